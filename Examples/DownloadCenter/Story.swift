import ExampleStage
import Foundation
import PurlDownloads
import PurlTesting

private let first = GeneratedContent(size: 1_000_000, seed: 1)
private let second = GeneratedContent(size: 500_000, seed: 2)
private let song = GeneratedContent(size: 200_000, seed: 3)

/// Two places and three files; a pause, a relaunch, a lost connection, and a file that is not there.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let screen = Screen()
    let server = try LoopbackServer()
    let urls = routes(on: server)

    screen.say("Three files, one of them asked for twice; two at a time")
    var stage = Stage(folder, screen)
    for url in urls + [urls[0]] { stage.center.add(url) }
    await stage.shows([(.downloading, 40), (.downloading, 20), (.waiting, nil)])

    screen.say("The button of the first: its place is free for the third")
    stage.center.press(0)
    await stage.shows([(.paused, 40), (.downloading, 20), (.downloading, 50)])

    screen.say("Closed, and opened again: the list is there, and nothing has been asked for")
    await stage.center.close()
    let requests = server.requests.count
    stage = Stage(folder, screen)
    await stage.shows([(.paused, 40), (.waiting, 20), (.waiting, 50)])
    screen.say("New requests: \(server.requests.count - requests)")

    screen.say("All go on; the second loses its connection, and tries again by itself")
    stage.center.resumeAll()
    await stage.shows([(.finished, 100), (.finished, 100), (.finished, 100)])

    screen.say("The first once more, and one that is not there")
    stage.center.add(urls[0])
    stage.center.add(server.url("/gone.mp4"))
    await stage.shows([(.finished, 100), (.finished, 100), (.finished, 100), (.failed, nil)])
    screen.say("  \(stage.center.rows[3].note)")
    stage.center.remove(3)

    screen.say("")
    for (url, content) in zip(urls, [first, second, song]) {
        let ranges = server.requests.filter { $0.path == url.path }.map { $0.fields["Range"] ?? "all of it" }
        let row = stage.center.rows.first { $0.downloader.url == url }
        let isSame = try content.matches(fileAt: URL(fileURLWithPath: row?.note ?? ""))
        screen.say("\(url.path): \(ranges.joined(separator: ", ")); whole and right: \(isSame ? "yes" : "no")")
    }
    await stage.center.close()
    screen.say("Unfinished files left: \(stage.unfinishedFiles)")
}

/// The same last part in two URLs is no accident. Answers stop where the story wants to have a look.
private func routes(on server: LoopbackServer) -> [URL] {
    let second = Reply.generated(second).entityTag("\"v1\"")
    return [
        server.route("/monday/film.mp4", .generated(first).entityTag("\"v1\"").stalled(afterBytes: 400_000, times: 1)),
        server.route(
            "/tuesday/film.mp4",
            .sequence([second.stalled(afterBytes: 100_000), second.cut(afterBytes: 200_000), second])),
        server.route("/song.ogg", .generated(song).entityTag("\"v1\"").stalled(afterBytes: 100_000, times: 1)),
    ]
}

/// A center, and somebody who looks at it.
@MainActor
private final class Stage {
    let center: DownloadCenter
    private let table: Table
    private let unfinished: URL
    private var isAsExpected: () -> Bool = { true }
    private var waiting: CheckedContinuation<Void, Never>?

    init(_ folder: StoryFolder, _ screen: Screen) {
        unfinished = folder.url.appendingPathComponent("Unfinished", isDirectory: true)
        var configuration = DownloadConfiguration(
            finishedDirectory: folder.url.appendingPathComponent("Finished", isDirectory: true),
            unfinishedDirectory: unfinished)
        configuration.maximumConcurrentDownloads = 2
        configuration.retryPolicy.initialDelay = .milliseconds(20)
        center = DownloadCenter(configuration: configuration)
        table = Table(center, on: screen)
        center.onChange = { [weak self] in self?.look() }
    }

    /// Waits until the rows stand like this, a percentage of `nil` for none, and draws them.
    func shows(_ expected: [(state: Downloader.State.Kind, percent: Int64?)]) async {
        await withCheckedContinuation { continuation in
            waiting = continuation
            isAsExpected = { [center] in
                center.rows.elementsEqual(expected) { row, expected in
                    row.state.kind == expected.state && row.total.map { row.received * 100 / $0 } == expected.percent
                }
            }
            look()
        }
        table.draw()
    }

    var unfinishedFiles: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: unfinished.path)) ?? []).count
    }

    private func look() {
        guard isAsExpected() else { return }
        waiting?.resume()
        waiting = nil
    }
}
