import ExampleStage
import Foundation
import PurlTesting

/// Where the story plays: a server, a folder, and what is seen of both.
@MainActor
struct Stage {
    let screen = Screen()
    let folder: StoryFolder
    private let server: LoopbackServer

    init() throws {
        folder = try StoryFolder()
        server = try LoopbackServer()
    }

    /// Begins a chapter.
    func open(_ title: String, _ path: String, _ reply: Reply) -> URL {
        if !server.requests.isEmpty { screen.say("") }
        screen.say(title)
        return server.route(path, reply)
    }

    func file(_ url: URL) -> URL { folder.url.appendingPathComponent(url.lastPathComponent) }

    func launch(_ way: String, _ url: URL) throws -> Child {
        screen.say("(launched)")
        return try Child([way, url.absoluteString, file(url).path], on: screen)
    }

    /// Ends a chapter: what the server was asked for, and what the file holds.
    func check(_ url: URL, _ content: GeneratedContent) throws {
        let asked = server.requests.filter { $0.path == url.path }.map { request in
            guard let range = request.fields["Range"] else { return "all of it" }
            return "\(range) of version \(request.fields["If-Range"] ?? "unknown")"
        }
        screen.say("The server was asked for \(asked.joined(separator: "; then "))")
        let isSame = try content.matches(fileAt: file(url))
        screen.say("The file is what the server has: \(isSame ? "yes" : "no")")
    }
}
