import Foundation
import Purl
import PurlTesting

extension Lesson {
    static let downloader = Lesson(number: 9, name: "ADownloader", scenes: [.mixedVersions, .threeStarts])
}

private let monday = Reply.text("monday monday").entityTag("\"monday\"")
private let sunday = Reply.text("SUNDAY SUNDAY").entityTag("\"sunday\"")

extension Scene {
    /// The naive download: the size fits, the bytes do not.
    fileprivate static let mixedVersions = Scene("mixed-versions", "The size fits, the bytes do not") { stage in
        let file = stage.folder.appendingPathComponent("paper")
        // What is left of an earlier start.
        try Data("monday".utf8).write(to: file)
        let url = stage.server.route("/paper", sunday)
        let download = SizeOnlyDownload(file)
        let session = URLSession(configuration: stage.configuration)
        let task = download.task(for: url, in: session)

        stage.turnClock(by: .milliseconds(10))
        task.resume()
        await stage.waitFor(.didComplete)
        session.finishTasksAndInvalidate()
        stage.print(try String(contentsOf: file, encoding: .utf8))
    }

    /// Cancelled twice, and the server has another version the second time.
    fileprivate static let threeStarts = Scene("three-starts", "Three starts") { stage in
        let session = URLSession(configuration: stage.configuration, delegate: nil, delegateQueue: .main)
        let url = stage.server.route(
            "/paper",
            .sequence([monday.stalled(afterBytes: 4), monday.stalled(afterBytes: 4), sunday]))
        let downloader = URLDownloader(url, in: stage.folder, session: session)
        downloader.onProgress = { received, total in
            stage.print("\(received) of \(total.map { "\($0)" } ?? "?") bytes")
        }

        for cancels in 1...2 {
            downloader.start()
            await stage.waitFor(.didReceiveData, times: cancels)
            stage.turnClock(by: .milliseconds(20))
            downloader.cancel()
            await stage.waitFor(.didComplete, times: cancels)
            stage.turnClock(by: .milliseconds(20))
        }
        downloader.start()
        await stage.waitFor(.didComplete, times: 3)
        stage.print(try String(contentsOf: downloader.place.finished, encoding: .utf8))

        // Finished: no request.
        downloader.start()
        session.finishTasksAndInvalidate()
    }
}
