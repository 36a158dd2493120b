import ExampleStage
import Foundation
import PurlTesting

/// Two downloads: one that can be paused, and one that cannot.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let server = try LoopbackServer()
    let screen = Screen()

    screen.say("A file from a server that can go on")
    let report = GeneratedContent(size: 1_000_000)
    // The first answer stops at 40 %, so that the pause comes there and nowhere else.
    let url = server.route(
        "/documents/7",
        .generated(report).entityTag("\"v1\"").field("Content-Disposition", "attachment; filename=\"report.pdf\"")
            .stalled(afterBytes: 400_000, times: 1))
    let controller = controller(for: url, folder, screen)
    controller.press()
    await screen.heard("  40 %")
    screen.say("(press, and press again at once)")
    controller.press()
    controller.press()
    await screen.heard("paused")
    screen.say("(press)")
    controller.press()
    await screen.heard("finished")
    controller.close()

    screen.say("")
    screen.say("A page that a server makes as it goes: no length, no version")
    let gate = Gate()
    let pageURL = server.route(
        "/page", .generated(size: 100_000).chunked().acceptRanges(nil).stalled(afterBytes: 50_000, until: gate))
    let other = PauseAndResume.controller(for: pageURL, folder, screen)
    other.press()
    await screen.heard("  some bytes of an unknown number")
    screen.say("(press)")
    other.press()
    await screen.heard("stopped: this server cannot go on")
    gate.open()
    screen.say("(press)")
    other.press()
    await screen.heard("finished")
    other.close()

    screen.say("")
    screen.say("In the folder: \(folder.names.joined(separator: ", "))")
    let isWhole = try report.matches(fileAt: folder.url.appendingPathComponent("report.pdf"))
    screen.say("report.pdf is what the server has: \(isWhole ? "yes" : "no")")
    screen.say("The server was asked for \(ranges(server).joined(separator: ", "))")
}

@MainActor
private func controller(for url: URL, _ folder: StoryFolder, _ screen: Screen) -> DownloadController {
    let controller = DownloadController(url: url, folder: folder.url)
    controller.onProgress = screen.show
    controller.onMessage = screen.say
    return controller
}

private func ranges(_ server: LoopbackServer) -> [String] {
    server.requests.map { request in "\(request.path) \(request.fields["Range"] ?? "whole")" }
}
