import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl get --sha256", .timeLimit(.minutes(5)))
struct ChecksumTests {
    static let content = GeneratedContent(size: 3_000_000, seed: 4)
    static let digest = content.sha256
    static let wrong = String(repeating: "0", count: 64)

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private var film: Reply { .generated(Self.content).entityTag("\"v1\"") }

    private func get(_ url: URL, _ digest: String, _ options: String...) async throws -> (Int32, [String]) {
        let (code, lines) = try await PurlProcess.run(
            ["get", url.absoluteString, "--sha256", digest] + options, in: folder)
        return (code, lines)
    }

    /// The value of a digest field (RFC 9530).
    private static func field(_ checksum: String) -> String {
        let bytes = Checksum(checksum)?.bytes ?? []
        return "sha-256=:\(Data(bytes).base64EncodedString()):"
    }

    @Test(
        "compares the file with the digest that the server sends, where the user names none",
        arguments: ["Repr-Digest", "Content-Digest", "Unencoded-Digest"], ["1", "4"])
    func ofServer(name: String, connections: String) async throws {
        let right = server.route("/right.bin", film.field(name, Self.field(Self.digest)))
        let words = ["--connections", connections]
        #expect(try await PurlProcess.run(["get", right.absoluteString] + words, in: folder).exitCode == 0)
        let wrong = server.route("/wrong.bin", film.field(name, Self.field(Self.wrong)))
        let (code, lines) = try await PurlProcess.run(["get", wrong.absoluteString] + words, in: folder)
        #expect(code == 1)
        #expect(lines.last?.contains("has the wrong SHA-256") == true, "\(lines)")
        #expect(folder.names == ["right.bin"])
        // What the user says of the file counts, and not what the server says.
        let known = ["get", wrong.absoluteString, "--sha256", Self.digest] + words
        #expect(try await PurlProcess.run(known, in: folder).exitCode == 0)
    }

    @Test("saves a file with the expected checksum")
    func right() async throws {
        let url = server.route("/film.bin", film)
        let (code, lines) = try await get(url, Self.digest.uppercased())
        #expect(code == 0)
        #expect(lines.last?.hasPrefix("film.bin: complete and checked, 3.00 MB in ") == true)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        // The file exists and has the expected checksum: no further request.
        #expect(try await get(url, Self.digest) == (0, ["film.bin: already complete and checked (3.00 MB)"]))
        #expect(try await get(url, Self.digest, "-o", "film.bin").0 == 0)
        #expect(server.requests.count == 1)
        // A file with another checksum is neither accepted nor replaced.
        #expect(try await get(url, Self.wrong).0 == 1)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("checks the whole file after resuming")
    func resumed() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 1))
        #expect(try await get(url, Self.digest).0 == 1)
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
        #expect(try await get(url, Self.digest).0 == 0)
        #expect(server.requests.last?.fields["Range"] == "bytes=1000000-")
        #expect(folder.names == ["film.bin"])
    }

    @Test("removes a file with the wrong checksum, and prints both checksums")
    func wrongBytes() async throws {
        let url = server.route("/film.bin", film)
        try folder.write("old", to: "mine")
        let (code, lines) = try await get(url, Self.wrong, "-o", "mine")
        #expect(code == 1)
        #expect(
            lines.last
                == "purl: “mine” has the wrong SHA-256: \(Self.digest) instead of \(Self.wrong)."
                + " The received bytes were removed.")
        #expect(folder.names == ["mine"])
        #expect(folder.contents("mine") == Data("old".utf8))
    }

    @Test("accepts only 64 hexadecimal digits", arguments: ["", "abc", wrong + "0", String(wrong.dropLast()) + "g"])
    func digits(text: String) {
        #expect(Checksum(text) == nil)
    }

    @Test("computes the checksum of a file")
    func file() async throws {
        try folder.write("abc", to: "abc")
        let checksum = try await Checksum.ofFile(at: folder.file("abc"))
        #expect(checksum.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
}
