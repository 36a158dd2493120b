import ExampleStage
import Foundation
import PurlTesting

/// One file and four launches: a quit, a lost connection, a crash, a happy end, and one more look.
@MainActor
func story() async throws {
    let folder = try StoryFolder()
    defer { folder.remove() }
    let screen = Screen()
    let server = try LoopbackServer()
    let film = GeneratedContent(size: 1_000_000)
    let made = Address.made(of: "/电影/第一集.bin", query: ["清晰度": "高清", "配音": "原声&字幕"], on: server.url)
    guard let url = made else { throw URLError(.badURL) }
    let served = Reply.generated(film).entityTag("\"v1\"")
    server.route(
        url.path(percentEncoded: true),
        .sequence([
            served.stalled(afterBytes: 300_000),
            served.cut(afterBytes: 300_000),
            // So that the crash comes when the answer is there and its first byte is not.
            served.stalled(afterBytes: 0),
            served,
        ]))
    let file = folder.url.appendingPathComponent("第一集.bin")

    func launch(_ address: String = url.absoluteString) throws -> Child {
        screen.say("(launched)")
        return try Child([address, file.path], on: screen)
    }

    // Typed by a person; the others get what `URL` makes of it.
    var child = try launch("\(server.url)电影/第一集.bin?清晰度=高清&配音=原声%26字幕")
    child.type("")
    await screen.heard("  |   30 %")
    screen.say("(quit)")
    child.type("q")
    await child.end()

    child = try launch()
    child.type("")
    await screen.heard("  | the connection was lost")
    child.type("")
    await screen.heard("  | going on at byte 600000")
    await child.kill()
    screen.say("(killed)")

    for _ in 1...2 {
        child = try launch()
        child.type("")
        await child.end()
    }

    screen.say("")
    screen.say("The server was asked for")
    screen.say("  \(url.path(percentEncoded: true))")
    screen.say("  ?\(url.query(percentEncoded: true) ?? "")")
    let asked = server.requests.map { request in
        request.target == server.requests[0].target ? request.fields["Range"] ?? "all of it" : request.target
    }
    screen.say("  \(asked.joined(separator: ", "))")
    screen.say("The file is what the server has: \(try film.matches(fileAt: file) ? "yes" : "no")")
}
