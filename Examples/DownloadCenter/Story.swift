import ExampleStage
import Foundation
import PurlDownloads
import PurlTesting

private let first = GeneratedContent(size: 1_000_000, seed: 1)
private let second = GeneratedContent(size: 500_000, seed: 2)
private let song = GeneratedContent(size: 200_000, seed: 3)

/// Two slots and three files; a pause, a relaunch, a lost connection, and a URL that does not exist.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let screen = Screen()
    let server = try LoopbackServer()
    let urls = routes(on: server)

    screen.print("Three files, one of them added twice; two at a time")
    var stage = Stage(folder, screen)
    for url in urls + [urls[0]] { stage.center.add(url) }
    await stage.waitForRows([(.downloading, 40), (.downloading, 20), (.waiting, nil)])

    screen.print("Pausing the first frees its slot for the third")
    stage.center.press(0)
    await stage.waitForRows([(.paused, 40), (.downloading, 20), (.downloading, 50)])

    screen.print("Closed and opened again: the list is restored, without a request")
    await stage.center.close()
    let requests = server.requests.count
    stage = Stage(folder, screen)
    await stage.waitForRows([(.paused, 40), (.waiting, 20), (.waiting, 50)])
    screen.print("New requests: \(server.requests.count - requests)")

    screen.print("All resume; the second loses its connection and is retried")
    stage.center.resumeAll()
    await stage.waitForRows([(.finished, 100), (.finished, 100), (.finished, 100)])

    screen.print("The first once more, and a URL that does not exist")
    stage.center.add(urls[0])
    stage.center.add(server.url("/gone.mp4"))
    await stage.waitForRows([(.finished, 100), (.finished, 100), (.finished, 100), (.failed, nil)])
    screen.print("  \(stage.center.rows[3].note)")
    stage.center.remove(3)

    screen.print("")
    for (url, content) in zip(urls, [first, second, song]) {
        let ranges = server.requests.filter { $0.path == url.path }.map { $0.fields["Range"] ?? "the whole file" }
        let row = stage.center.rows.first { $0.downloader.url == url }
        let isSame = try content.matches(fileAt: URL(fileURLWithPath: row?.note ?? ""))
        screen.print(
            "\(url.path): \(ranges.joined(separator: ", ")); identical to the server's: \(isSame ? "yes" : "no")")
    }
    await stage.center.close()
    screen.print("Unfinished files left: \(stage.unfinishedFiles)")
}

/// Two URLs have the same last path component on purpose. Responses stall where the story shows the table.
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

/// A center and its screen.
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
        center.onChange = { [weak self] in self?.check() }
    }

    /// Waits until the rows have these states and percentages (`nil` for none), and draws them.
    func waitForRows(_ expected: [(state: Downloader.State.Kind, percent: Int64?)]) async {
        await withCheckedContinuation { continuation in
            waiting = continuation
            isAsExpected = { [center] in
                center.rows.elementsEqual(expected) { row, expected in
                    row.state.kind == expected.state && row.total.map { row.received * 100 / $0 } == expected.percent
                }
            }
            check()
        }
        table.draw()
    }

    var unfinishedFiles: Int {
        ((try? FileManager.default.contentsOfDirectory(atPath: unfinished.path)) ?? []).count
    }

    private func check() {
        guard isAsExpected() else { return }
        waiting?.resume()
        waiting = nil
    }
}
