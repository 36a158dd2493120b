import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let appendingToAFile = Lesson(
        number: 5, name: "AppendingToAFile", scenes: [.growingFile, .slowDelegate, .closedEarly])
}

extension Scene {
    /// Three pieces, appended to a file; before the third the task is suspended.
    fileprivate static let growingFile = Scene("growing-file", "A file that grows") { stage in
        let (second, third) = (ServerGate(), ServerGate())
        let url = stage.server.route(
            "/story",
            .text("Once upon a time there was a file.").stalled(afterBytes: 4, until: second)
                .stalled(afterBytes: 16, until: third))
        let download = stage.download(url, .handle)

        download.start()
        await stage.waitFor(.didReceiveData)
        stage.turnClock(by: .milliseconds(20))
        second.open()
        await stage.waitFor(.didReceiveData, times: 2)
        stage.turnClock(by: .milliseconds(20))
        download.suspend()
        await stage.waitFor(.held(.suspended))
        stage.turnClock(by: .milliseconds(50))
        third.open()
        await stage.server.waitUntilIdle()
        stage.trace.note("sends the rest", in: .server)
        stage.turnClock(by: .milliseconds(50))
        download.resume()
        await stage.waitFor(.didComplete)
        download.close()
    }

    /// The delegate takes 50 ms for its first two pieces; the server would like to be faster.
    fileprivate static let slowDelegate = Scene("slow-delegate", "A delegate that is slow") { stage in
        let (second, third) = (ServerGate(), ServerGate())
        let url = stage.server.route(
            "/numbers",
            .text("one two, three four, five six").stalled(afterBytes: 7, until: second)
                .stalled(afterBytes: 19, until: third))
        let configuration = stage.configuration
        configuration.limits.bufferedBytesPerTask = 16
        let brake = DispatchSemaphore(value: 0)
        let download = stage.download(url, .stream, configuration) { brake.wait() }

        download.start()
        await stage.waitFor(line: "7 of 29 bytes")
        stage.turnClock(by: .milliseconds(10))
        second.open()
        await stage.waitFor(.held(.full))
        stage.turnClock(by: .milliseconds(10))
        third.open()
        await stage.server.waitUntilIdle()
        stage.trace.note("sends the rest", in: .server)
        stage.turnClock(by: .milliseconds(30))
        brake.signal()
        await stage.waitFor(line: "19 of 29 bytes")
        stage.turnClock(by: .milliseconds(50))
        brake.signal()
        brake.signal()
        await stage.waitFor(.didComplete)
        download.close()
    }

    /// The screen goes while the download is under way.
    fileprivate static let closedEarly = Scene("closed-early", "A download that is closed early") { stage in
        let url = stage.server.route("/story", .text("Once upon a time there was a file.").stalled(afterBytes: 16))
        var download: AppendingDownload? = stage.download(url, .handle)
        weak let delegate = download

        download?.start()
        await stage.waitFor(.didReceiveData)
        stage.turnClock(by: .milliseconds(20))
        download?.close()
        download = nil
        await stage.waitFor(.didComplete)
        while delegate != nil { await Task.yield() }
        let text = try String(contentsOf: stage.folder.appendingPathComponent("file"), encoding: .utf8)
        stage.print("the session has let go of its delegate, and the file has: \(text)")
    }
}

extension Stage {
    /// A download into a file of the stage.
    fileprivate func download(
        _ url: URL, _ way: FileAppender.Way, _ configuration: URLSessionConfiguration? = nil,
        onPiece: @escaping @Sendable () -> Void = {}
    ) -> AppendingDownload {
        let configuration = configuration ?? self.configuration
        // The body is kept in the file: a second copy in a cache is of no use.
        configuration.urlCache = nil
        return AppendingDownload(
            url, to: folder.appendingPathComponent("file"), way: way, configuration: configuration
        ) { size, total in
            self.print("\(size) of \(total) bytes")
            onPiece()
        } onEnd: {
            self.print($0)
        }
    }
}
