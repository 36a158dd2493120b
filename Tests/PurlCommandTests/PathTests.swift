import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("Paths through symbolic links", .timeLimit(.minutes(5)))
struct PathTests {
    private let folder = TemporaryFolder()
    private let server: LoopbackServer

    /// `link/../f` is `other/f`, since `link` leads to `other/inner`.
    init() throws {
        server = try LoopbackServer()
        let inner = folder.file("other/inner")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: "other/inner")
        try folder.write("mine", to: "f")
    }

    @Test("purl get saves to the file that the system finds at a path")
    func get() async throws {
        let url = server.route("/f", .text("new"))
        #expect(try await PurlProcess.run(["get", url.absoluteString, "-o", "link/../f"], in: folder).exitCode == 0)
        #expect(folder.contents("f") == Data("mine".utf8))
        #expect(folder.contents("other/f") == Data("new".utf8))
    }

    @Test("purl put sends the file that the system finds at a path")
    func put() async throws {
        try folder.write("right", to: "other/f")
        let url = server.route("/f", method: "PUT", .status(204))
        #expect(try await PurlProcess.run(["put", "link/../f", url.absoluteString], in: folder).exitCode == 0)
        #expect(server.requests.map(\.body) == [Data("right".utf8)])
    }
}
