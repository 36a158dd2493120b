import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("purl get --sha256", .timeLimit(.minutes(5)))
struct ChecksumTests {
    static let content = GeneratedContent(size: 3_000_000, seed: 4)
    static let digest = Digest.of(content)
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

    @Test("saves what it must be")
    func right() async throws {
        let url = server.route("/film.bin", film)
        #expect(try await get(url, Self.digest.uppercased()).0 == 0)
        #expect(folder.names == ["film.bin"])
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        // It is there by now, and is what it must be.
        #expect(try await get(url, Self.digest).0 == 0)
        #expect(try await get(url, Self.digest, "-o", "film.bin").0 == 0)
        #expect(server.requests.count == 1)
        // And what it must not be is neither taken for it nor replaced.
        #expect(try await get(url, Self.wrong).0 == 1)
        #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
    }

    @Test("checks all of it when it went on from earlier bytes")
    func resumed() async throws {
        let url = server.route("/film.bin", film.cut(afterBytes: 1_000_000, times: 1))
        #expect(try await get(url, Self.digest).0 == 1)
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
        #expect(try await get(url, Self.digest).0 == 0)
        #expect(server.requests.last?.fields["Range"] == "bytes=1000000-")
        #expect(folder.names == ["film.bin"])
    }

    @Test("removes what is something else, and says what it is")
    func wrongBytes() async throws {
        let url = server.route("/film.bin", film)
        try folder.write("old", to: "mine")
        let (code, lines) = try await get(url, Self.wrong, "-o", "mine")
        #expect(code == 1)
        #expect(
            lines.last
                == "purl: “mine” is not what it must be: its SHA-256 is \(Self.digest), expected was"
                + " \(Self.wrong). What was loaded has been removed.")
        #expect(folder.names == ["mine"])
        #expect(folder.contents("mine") == Data("old".utf8))
    }

    @Test("is 64 hexadecimal digits", arguments: ["", "abc", wrong + "0", String(wrong.dropLast()) + "g"])
    func digits(text: String) {
        #expect(Checksum(text) == nil)
    }

    @Test("of a file is that of its bytes")
    func file() async throws {
        try folder.write("abc", to: "abc")
        let checksum = try await Checksum.ofFile(at: folder.file("abc"))
        #expect(checksum.hexadecimal == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }
}
