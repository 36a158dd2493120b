import ExampleStage
import Foundation
import PurlTesting

/// The server, the folder and the screen of the story.
@MainActor
struct Stage {
    let screen = Screen()
    let folder: StoryFolder
    private let server: LoopbackServer

    init() throws {
        folder = try StoryFolder()
        server = try LoopbackServer()
    }

    /// Starts a part of the story.
    func open(_ title: String, _ path: String, _ reply: Reply) -> URL {
        if !server.requests.isEmpty { screen.print("") }
        screen.print(title)
        return server.route(path, reply)
    }

    func file(_ url: URL) -> URL { folder.url.appendingPathComponent(url.lastPathComponent) }

    func launch(_ way: String, _ url: URL) throws -> Child {
        screen.print("(launched)")
        return try Child([way, url.absoluteString, file(url).path], on: screen)
    }

    /// Ends a part of the story: prints the requests, and compares the file with the server's.
    func check(_ url: URL, _ content: GeneratedContent) throws {
        let ranges = server.requests.filter { $0.path == url.path }.map { request in
            guard let range = request.fields["Range"] else { return "the whole file" }
            return "\(range) of version \(request.fields["If-Range"] ?? "unknown")"
        }
        screen.print("Requests: \(ranges.joined(separator: "; then "))")
        let isSame = try content.matches(fileAt: file(url))
        screen.print("The file is identical to the server's: \(isSame ? "yes" : "no")")
    }
}
