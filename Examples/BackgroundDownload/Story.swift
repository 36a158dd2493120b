import ExampleStage
import Foundation
import PurlTesting

/// A download that is begun, paused, continued, cut off, killed, and finished by the next process.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let screen = Screen()
    let server = try LoopbackServer()
    let film = GeneratedContent(size: 1_000_000)
    let served = Reply.generated(film).entityTag("\"v1\"")
    let (gate, eventsDelivered) = (ServerGate(), ServerGate())
    let url = server.route(
        "/film",
        .sequence([
            served.stalled(afterBytes: 300_000, until: gate).cut(afterBytes: 600_000),
            // The process is killed between the response and its first byte.
            served.stalled(afterBytes: 0),
            // The new task could be faster than the events of the old one. Here it is not.
            served.delayed(until: eventsDelivered),
        ]))

    screen.print("(launched)")
    var child = try Child([url.absoluteString, folder.url.path], on: screen)
    child.type("b")
    await screen.waitFor("  |   30 %")
    child.type("b")
    await screen.waitFor("  | begin: found the existing download")
    child.type("p")
    await screen.waitFor("  | paused")
    child.type("c")
    await screen.waitFor("  | continued")
    gate.open()
    await screen.waitFor("  | resuming at byte 600000")
    await child.kill()
    screen.print("(killed, and launched again)")
    child = try Child([url.absoluteString, folder.url.path, "woken"], on: screen)
    await screen.waitFor("  | all events delivered")
    eventsDelivered.open()
    await child.end()
    screen.print("(the system's handler was called)")

    screen.print("")
    let ranges = server.requests.map { $0.fields["Range"] ?? "the whole file" }
    screen.print("Requests: \(ranges.joined(separator: ", "))")
    let files = folder.names.filter { !$0.hasPrefix(".") }
    let isSame = try files.count == 1 && film.matches(fileAt: folder.url.appendingPathComponent(files[0]))
    screen.print("One file, identical to the server's: \(isSame ? "yes" : "no")")
}
