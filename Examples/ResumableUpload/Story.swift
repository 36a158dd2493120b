import ExampleStage
import Foundation
import PurlTesting

/// Four uploads: one that is paused, one whose connection is lost, one whose file changes, and one that cannot be resumed.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let screen = Screen()
    let server = try LoopbackServer()
    let film = GeneratedContent(size: 1_000_000, seed: 1)
    let file = folder.url.appendingPathComponent("film.bin")
    try film.data.write(to: file)

    screen.print("A pause")
    let target = UploadTarget()
    let controller = controller(for: file, to: server.route("/films", .upload(to: target)), screen)
    stall(target)
    controller.press()
    await reached(target, screen)
    screen.print("(the server has 400000 bytes; press, and press again at once)")
    controller.press()
    controller.press()
    await screen.waitFor("paused")
    screen.print("(press)")
    controller.press()
    await screen.waitFor("the server answered 201")

    screen.print("")
    screen.print("A lost connection")
    target.fault(.connection(.cut), at: .offset(700_000))
    controller.press()
    await screen.waitFor("the server answered 201")

    screen.print("")
    screen.print("A file that changes during a pause")
    stall(target)
    controller.press()
    await reached(target, screen)
    controller.press()
    await screen.waitFor("paused")
    let edited = GeneratedContent(size: 1_000_000, seed: 2)
    try edited.data.write(to: file)
    screen.print("(edit the file; press)")
    controller.press()
    await screen.waitFor("the server answered 201")
    controller.close()

    screen.print("")
    screen.print("A server that takes no uploads in parts")
    let plain = UploadTarget(versions: [])
    let other = ResumableUpload.controller(for: file, to: server.route("/plain", .upload(to: plain)), screen)
    stall(plain)
    other.press()
    await reached(plain, screen)
    other.press()
    await screen.waitFor("stopped: this server does not support resuming")
    other.close()

    screen.print("")
    for upload in target.uploads {
        let names = [(film.data, "the film"), (edited.data, "the edited film")]
        let content = names.first { $0.0 == upload.content }?.1 ?? "a part"
        let parts = upload.parts.map { "\($0.range.lowerBound) to \($0.range.upperBound)" }
        screen.print("Upload \(upload.number + 1): \(content), received as \(parts.joined(separator: " and "))")
    }
}

@MainActor
private func controller(for file: URL, to url: URL, _ screen: Screen) -> UploadController {
    let controller = UploadController(file, to: url)
    controller.onMessage = screen.print
    return controller
}

/// Lets the target take no more than 400,000 bytes of the next request, so that a pause always happens there.
private func stall(_ target: UploadTarget) {
    target.fault(.connection(.stall(until: nil)), at: .offset(400_000))
}

/// Returns when it has them.
@MainActor
private func reached(_ target: UploadTarget, _ screen: Screen) async {
    await screen.waitFor("sending the file")
    await target.wait { uploads in uploads.last?.offset == 400_000 }
}
