import ExampleStage
import Foundation
import PurlTesting

/// Two downloads: one that can be resumed, and one that cannot.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let server = try LoopbackServer()
    let screen = Screen()

    screen.print("A server that supports resuming")
    let report = GeneratedContent(size: 1_000_000)
    // The first response stalls at 40 %, so that the pause always happens there.
    let url = server.route(
        "/documents/7",
        .generated(report).entityTag("\"v1\"").field("Content-Disposition", "attachment; filename=\"report.pdf\"")
            .stalled(afterBytes: 400_000, times: 1))
    let controller = controller(for: url, folder, screen)
    controller.press()
    await screen.waitFor("  40 %")
    screen.print("(press, and press again at once)")
    controller.press()
    controller.press()
    await screen.waitFor("paused")
    screen.print("(press)")
    controller.press()
    await screen.waitFor("finished")
    controller.close()

    screen.print("")
    screen.print("A generated page: no length, no version")
    let gate = ServerGate()
    let pageURL = server.route(
        "/page", .generated(size: 100_000).chunked().acceptRanges(nil).stalled(afterBytes: 50_000, until: gate))
    let other = PauseAndResume.controller(for: pageURL, folder, screen)
    other.press()
    await screen.waitFor("  some bytes, total unknown")
    screen.print("(press)")
    other.press()
    await screen.waitFor("stopped: this server does not support resuming")
    gate.open()
    screen.print("(press)")
    other.press()
    await screen.waitFor("finished")
    other.close()

    screen.print("")
    screen.print("In the folder: \(folder.names.joined(separator: ", "))")
    let isWhole = try report.matches(fileAt: folder.url.appendingPathComponent("report.pdf"))
    screen.print("report.pdf is identical to the server's: \(isWhole ? "yes" : "no")")
    screen.print("Requests: \(ranges(server).joined(separator: ", "))")
}

@MainActor
private func controller(for url: URL, _ folder: StoryFolder, _ screen: Screen) -> DownloadController {
    let controller = DownloadController(url: url, folder: folder.url)
    controller.onProgress = screen.show
    controller.onMessage = screen.print
    return controller
}

private func ranges(_ server: LoopbackServer) -> [String] {
    server.requests.map { request in "\(request.path) \(request.fields["Range"] ?? "whole")" }
}
