import Foundation
import Purl
import PurlDownloads
import PurlTesting

extension Lesson {
    static let downloadManager = Lesson(
        number: 10, name: "ADownloadManager", scenes: [.twoSlots, .theLibrary])
}

extension Scene {
    /// Three URLs, one of them added twice, and two slots.
    fileprivate static let twoSlots = Scene("two-slots", "Three downloads, two slots") { stage in
        let gates = [ServerGate(), ServerGate()]
        let urls = [
            stage.server.route("/monday/paper", .text("monday").delayed(until: gates[0])),
            stage.server.route("/tuesday/paper", .text("tuesday").delayed(until: gates[1])),
            stage.server.route("/song", .text("la, la, la")),
        ]
        let manager = SmallDownloadManager(in: stage.folder, limit: 2, configuration: stage.configuration)
        manager.onState = { stage.print("\($0.url.path): \($0.state.word)") }

        for (count, url) in urls.prefix(2).enumerated() {
            manager.download(url)
            await stage.waitFor(.requestEnd, times: count + 1)
            stage.turnClock(by: .milliseconds(20))
        }
        // The first one again, and one for which there is no slot.
        manager.download(urls[0])
        manager.download(urls[2])

        gates[0].open()
        await stage.waitFor(.didComplete, times: 2)
        stage.turnClock(by: .milliseconds(20))
        gates[1].open()
        await stage.waitFor(.didComplete, times: 3)
        manager.invalidate()
    }

    /// The same with the library: a download is paused, which frees its slot for the next one.
    static let theLibrary = Scene("the-library", "The same with PurlDownloads") { stage in
        let gate = ServerGate()
        let served = Reply.text("monday monday").entityTag("\"v1\"")
        let first = stage.server.route("/paper", .sequence([served.stalled(afterBytes: 6, until: gate), served]))
        let second = stage.server.route("/song", .text("la, la, la"))
        var configuration = DownloadConfiguration(
            finishedDirectory: stage.folder.appendingPathComponent("finished", isDirectory: true),
            unfinishedDirectory: stage.folder.appendingPathComponent("unfinished", isDirectory: true))
        configuration.maximumConcurrentDownloads = 1
        configuration.session = stage.configuration
        let center = DownloadCenter(configuration: configuration)

        center.add(first)
        await stage.waitForRows(of: center, ["paper: downloading, 6 of 13"])
        await stage.waitFor(.written(6))
        await stage.waitFor(.didReceiveResponse)
        stage.turnClock(by: .milliseconds(20))
        center.press(0)
        await stage.waitForRows(of: center, ["paper: paused, 6 of 13"])
        await stage.waitFor(.didComplete)
        stage.turnClock(by: .milliseconds(20))
        center.add(second)
        await stage.waitForRows(of: center, ["paper: paused, 6 of 13", "song: finished, 10 of 10"])
        await stage.waitFor(.didComplete, times: 2)
        stage.turnClock(by: .milliseconds(20))
        center.press(0)
        await stage.waitForRows(of: center, ["paper: finished, 13 of 13", "song: finished, 10 of 10"])
        await stage.waitFor(.didComplete, times: 3)
        await center.close()
    }
}

extension URLDownloader.State {
    fileprivate var word: String {
        switch self {
        case .idle: "idle"
        case .downloading: "downloading"
        case .paused: "paused"
        case .ending: "ending"
        case .finished: "finished"
        case .failed(let reason): "failed, \(reason)"
        }
    }
}

extension Stage {
    /// Returns when the rows are these, and prints them.
    fileprivate func waitForRows(of center: DownloadCenter, _ expected: [String]) async {
        while center.rows.map(\.words) != expected { await Task.yield() }
        for row in expected { print(row) }
    }
}

extension DownloadCenter.Row {
    fileprivate var words: String {
        "\(name): \(state.kind.rawValue), \(received) of \(total.map { "\($0)" } ?? "?")"
    }
}
