import ExampleStage
import Foundation
import PurlTesting

/// One file and four launches: a quit, a lost connection, a crash, and a complete file.
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
            // The crash happens between the response and its first byte.
            served.stalled(afterBytes: 0),
            served,
        ]))
    let file = folder.url.appendingPathComponent("第一集.bin")

    func launch(_ address: String = url.absoluteString) throws -> Child {
        screen.print("(launched)")
        return try Child([address, file.path], on: screen)
    }

    // As a person types it; the other launches use the encoded URL.
    var child = try launch("\(server.url)电影/第一集.bin?清晰度=高清&配音=原声%26字幕")
    child.type("")
    await screen.waitFor("  |   30 %")
    screen.print("(quit)")
    child.type("q")
    await child.end()

    child = try launch()
    child.type("")
    await screen.waitFor("  | the connection was lost")
    child.type("")
    await screen.waitFor("  | resuming at byte 600000")
    await child.kill()
    screen.print("(killed)")

    for _ in 1...2 {
        child = try launch()
        child.type("")
        await child.end()
    }

    screen.print("")
    screen.print("Requests for")
    screen.print("  \(url.path(percentEncoded: true))")
    screen.print("  ?\(url.query(percentEncoded: true) ?? "")")
    let asked = server.requests.map { request in
        request.target == server.requests[0].target ? request.fields["Range"] ?? "the whole file" : request.target
    }
    screen.print("  \(asked.joined(separator: ", "))")
    screen.print("The file is identical to the server's: \(try film.matches(fileAt: file) ? "yes" : "no")")
}
