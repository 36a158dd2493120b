import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let ranges = Lesson(number: 6, name: "Ranges", scenes: [.twoVersions, .rightVersion, .withSink])
}

/// A text that changes while it is downloaded: both versions have the same length.
private enum Versions {
    static let first = Reply.text("The cat sat on the mat.").entityTag("\"v1\"")
    static let second = Reply.text("The dog lay on the rug.").entityTag("\"v2\"")
}

extension Reply {
    /// Waits at a gate after so many bytes, and loses the connection there.
    fileprivate func lost(afterBytes count: Int, at gate: ServerGate) -> Reply {
        stalled(afterBytes: count, until: gate).cut(afterBytes: count)
    }
}

extension Scene {
    /// The recipe: the file changes between two launches, and its end is appended to the beginning of the old one.
    fileprivate static let twoVersions = Scene("two-versions", "The recipe: a file of two versions") { stage in
        let loss = ServerGate()
        let url = stage.server.route(
            "/text", .sequence([Versions.first.lost(afterBytes: 8, at: loss), Versions.second]))

        NaiveResume(url, to: stage.file, configuration: stage.uncached).start()
        await stage.waitFor(.didReceiveData)
        stage.turnClock(by: .milliseconds(20))
        loss.open()
        await stage.waitFor(.didComplete)
        stage.relaunch()
        NaiveResume(url, to: stage.file, configuration: stage.uncached).start()
        await stage.waitFor(.didComplete, times: 2)
        try stage.showFile()
    }

    /// The same server, and a download that names the version of the bytes it has.
    fileprivate static let rightVersion = Scene("right-version", "If-Range: the rest of the same version") { stage in
        let (loss, secondLoss) = (ServerGate(), ServerGate())
        let url = stage.server.route(
            "/text",
            .sequence([
                Versions.first.lost(afterBytes: 8, at: loss),
                Versions.first.lost(afterBytes: 7, at: secondLoss),
                Versions.second,
            ]))

        for (number, loss) in [loss, secondLoss].enumerated() {
            let download = stage.fileDownload(url)
            download.start()
            await stage.waitFor(.didReceiveData, times: number + 1)
            stage.turnClock(by: .milliseconds(20))
            loss.open()
            await stage.waitFor(.didComplete, times: number + 1)
            download.close()
            await stage.waitFor(line: "session closed", times: number + 1)
            stage.relaunch()
        }
        stage.fileDownload(url).start()
        await stage.waitFor(line: "session closed", times: 3)
        try stage.showFile()
    }

    /// Three launches of a download whose task writes to a sink.
    fileprivate static let withSink = Scene("with-a-sink", "A sink: lost, resumed, complete") { stage in
        let loss = ServerGate()
        let url = stage.server.route(
            "/text", .sequence([Versions.first.lost(afterBytes: 8, at: loss), Versions.first]))

        let download = stage.offlineDownload(url)
        download.start()
        await stage.waitFor(.written(8))
        stage.turnClock(by: .milliseconds(20))
        loss.open()
        await stage.waitFor(.didComplete)
        download.quit()
        await stage.waitFor(line: "session closed")
        for number in 2...3 {
            stage.relaunch()
            stage.offlineDownload(url).start()
            await stage.waitFor(line: "session closed", times: number)
        }
        try stage.showFile()
    }
}

extension Stage {
    /// Where the downloads go.
    fileprivate var file: URL { folder.appendingPathComponent("text") }

    /// The file is what is kept: a cache has no part in it.
    fileprivate var uncached: URLSessionConfiguration {
        let configuration = configuration
        configuration.urlCache = nil
        return configuration
    }

    /// The program starts again a second later, and knows only what is on disk.
    fileprivate func relaunch() {
        turnClock(by: .seconds(1))
        trace.note("launched again")
        turnClock(by: .milliseconds(10))
    }

    fileprivate func showFile() throws {
        let text = try String(contentsOf: file, encoding: .utf8)
        print("the file: \(text)")
        trace.note("the file: \(text)")
    }

    fileprivate func fileDownload(_ url: URL) -> FileDownload {
        let download = FileDownload(url, to: file, way: .handle, configuration: uncached)
        print("on disk: \(download.size) of \(download.total.map { "\($0)" } ?? "unknown")")
        download.onMessage = { self.print($0) }
        return download
    }

    fileprivate func offlineDownload(_ url: URL) -> OfflineDownload {
        let download = OfflineDownload(url, to: file, configuration: uncached)
        print("on disk: \(download.saved?.bytesReceived ?? 0) of \(download.saved?.totalBytes ?? 0)")
        download.onMessage = { self.print($0) }
        download.onEnd = { self.print("session closed") }
        return download
    }
}
