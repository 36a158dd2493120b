import ExampleStage
import Foundation
import PurlTesting

/// Begun, paused, continued, cut off, killed, and finished by the next process.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let screen = Screen()
    let server = try LoopbackServer()
    let film = GeneratedContent(size: 1_000_000)
    let served = Reply.generated(film).entityTag("\"v1\"")
    let (gate, told) = (Gate(), Gate())
    let url = server.route(
        "/film",
        .sequence([
            served.stalled(afterBytes: 300_000, until: gate).cut(afterBytes: 600_000),
            // So that the kill comes when the answer is there and its first byte is not.
            served.stalled(afterBytes: 0),
            // The new download may be faster than the news of the old one. Here it is not.
            served.delayed(until: told),
        ]))

    screen.say("(launched)")
    var child = try Child([url.absoluteString, folder.url.path], on: screen)
    child.type("b")
    await screen.heard("  |   30 %")
    child.type("b")
    await screen.heard("  | begin: found the download there is")
    child.type("p")
    await screen.heard("  | paused")
    child.type("c")
    await screen.heard("  | continued")
    gate.open()
    await screen.heard("  | going on at byte 600000")
    await child.kill()
    screen.say("(killed, and launched again)")
    child = try Child([url.absoluteString, folder.url.path, "woken"], on: screen)
    await screen.heard("  | the session has told everything")
    told.open()
    await child.end()
    screen.say("(the system has been called)")

    screen.say("")
    let asked = server.requests.map { $0.fields["Range"] ?? "all of it" }
    screen.say("The server was asked for \(asked.joined(separator: ", "))")
    let files = folder.names.filter { !$0.hasPrefix(".") }
    let isSame = try files.count == 1 && film.matches(fileAt: folder.url.appendingPathComponent(files[0]))
    screen.say("One file, and it is what the server has: \(isSame ? "yes" : "no")")
}
