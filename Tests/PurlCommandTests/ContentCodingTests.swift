import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl get of a file that a server sends with a content coding", .timeLimit(.minutes(5)))
struct ContentCodingTests {
    static let content = GeneratedContent(size: 400_000, seed: 31)
    /// "hello, unpacked\n"
    static let packed = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11EozStITM5OTeECAMM5VLEQAAAA") ?? Data()

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func get(_ url: URL, _ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(["get", url.absoluteString] + options, in: folder)
    }

    private func archive(_ coding: String) -> Reply {
        .generated(Self.content).entityTag("\"v1\"").field("Content-Encoding", coding)
    }

    @Test("saves the bytes as they were sent, though none was asked for", arguments: ["gzip", "x-gzip", "br"])
    func asSent(coding: String) async throws {
        let url = server.route("/x.tar.gz", archive(coding))
        let (code, lines) = try await get(url, "-v", "--sha256", Self.content.sha256)
        #expect(code == 0)
        #expect(server.requests.map { $0.fields["Accept-Encoding"] } == ["identity"])
        #expect(try Self.content.matches(fileAt: folder.file("x.tar.gz")))
        #expect(lines.contains("x.tar.gz: downloading (400 kB)"))
        #expect(lines.contains("* Content-Encoding \(coding): saved as sent; --compressed unpacks it"))
        #expect(folder.names == ["x.tar.gz"])
    }

    @Test("resumes the bytes as they were sent", arguments: ["gzip", "x-gzip", "br"])
    func resumed(coding: String) async throws {
        let url = server.route("/x.tar.gz", archive(coding).cut(afterBytes: 100_000, times: 1))
        #expect(try await get(url).exitCode == 1)
        #expect(folder.names == ["x.tar.gz.part", "x.tar.gz.resume"])
        try Data("\(Self.content.sha256)  x.tar.gz\n".utf8).write(to: folder.file("SHA256SUMS"))
        let (code, lines) = try await get(url, "--check", "SHA256SUMS")
        #expect(code == 0)
        #expect(lines.first == "x.tar.gz: resuming at 100 kB of 400 kB")
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=100000-"])
        #expect(try Self.content.matches(fileAt: folder.file("x.tar.gz")))
    }

    @Test("a mirror continues the bytes as they were sent")
    func mirror() async throws {
        let url = server.route("/x.tar.gz", archive("gzip").cut(afterBytes: 100_000))
        let other = try LoopbackServer()
        let mirror = other.route("/x.tar.gz", archive("x-gzip"))
        let (code, _) = try await get(url, "--mirror", mirror.absoluteString, "--sha256", Self.content.sha256)
        #expect(code == 0)
        #expect(other.requests.map { $0.fields["Range"] } == [nil, "bytes=100000-"])
        #expect(other.requests.map { $0.fields["Accept-Encoding"] } == ["identity", "identity"])
        #expect(try Self.content.matches(fileAt: folder.file("x.tar.gz")))
    }

    @Test("unpacks with --compressed, which asks for gzip, and checks what it has unpacked")
    func compressed() async throws {
        let url = server.route("/page.html", .bytes(Self.packed).entityTag("\"v1\"").field("Content-Encoding", "gzip"))
        let sum = "cb5d976403020d5174d5e1214326847f139c0ee784c3b13e07f6f0443d8af080"
        let (code, lines) = try await get(url, "-v", "--compressed", "--sha256", sum)
        #expect(code == 0)
        #expect(server.requests.map { $0.fields["Accept-Encoding"] } == ["gzip, deflate"])
        #expect(folder.contents("page.html") == Data("hello, unpacked\n".utf8))
        #expect(lines.contains("* Content-Encoding gzip: unpacked"))
    }

    @Test("resumes what was sent plainly with --compressed as it is")
    func compressedPlain() async throws {
        let reply = Reply.generated(Self.content).entityTag("\"v1\"")
        let url = server.route("/film.bin", reply.cut(afterBytes: 100_000, times: 1))
        #expect(try await get(url, "--compressed").exitCode == 1)
        #expect(try await get(url, "--compressed").exitCode == 0)
        #expect(server.requests.map { $0.fields["Accept-Encoding"] } == ["gzip, deflate", "identity"])
        #expect(server.requests.map { $0.fields["Range"] } == [nil, "bytes=100000-"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("a coding that the user asks for is the user's")
    func ownField() async throws {
        let url = server.route("/page.html", .bytes(Self.packed).field("Content-Encoding", "gzip"))
        #expect(try await get(url, "-H", "Accept-Encoding: gzip").exitCode == 0)
        #expect(server.requests.map { $0.fields["Accept-Encoding"] } == ["gzip"])
        #expect(folder.contents("page.html") == Self.packed)
    }
}
