import Foundation
import PurlHTTP
import PurlTesting
import Synchronization
import Testing

@testable import PurlCommand

@Suite("Pieces that are checked while they arrive", .timeLimit(.minutes(5)))
struct PieceDownloadTests {
    private static let mebi = 1 << 20
    private static let content = GeneratedContent(size: 4 * mebi + 1000, seed: 91)
    private static let other = GeneratedContent(size: 4 * mebi + 1000, seed: 92)
    /// Half of each of four connections' shares is a piece.
    private static let long = GeneratedContent(size: 8 * mebi + 1000, seed: 93)
    /// What `sha256sum` writes of the pieces of a mebibyte.
    private static let list = list(pieceLength: mebi)

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let mirror: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        mirror = try LoopbackServer()
    }

    private var film: Reply { .generated(Self.content).entityTag("\"v1\"") }

    /// The content with one bit changed.
    private func damaged(at offset: Int) -> Reply {
        var data = Self.content.data
        data[offset] ^= 1
        return Reply.bytes(data).entityTag("\"v1\"")
    }

    private func purl(_ words: [String]) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(words, in: folder)
    }

    private static func list(pieceLength: Int) -> String {
        var text = ""
        for start in stride(from: 0, to: content.size, by: pieceLength) {
            var digest = SHA256()
            digest.update(content.bytes(start..<min(content.size, start + pieceLength)).bytes)
            text += "\(Checksum(digest).hexadecimal)  x\(start)\n"
        }
        return text
    }

    private func writeList(_ text: String = list) throws { try folder.write(text, to: "list") }

    private func isRight() throws -> Bool { try Self.content.matches(fileAt: folder.file("film")) }

    private func ranges(_ server: LoopbackServer) -> [String] { server.requests.map { $0.fields["Range"] ?? "" } }

    @Test("The digests that are kept are those of the file, over one connection and over several", arguments: [1, 4])
    func kept(connections: Int) async throws {
        let url = server.route("/film", film).absoluteString
        #expect(try await purl(["get", url, "--connections", "\(connections)", "--keep-digests"]).exitCode == 0)
        #expect(folder.names == ["film", "film.digests"])
        #expect(try isRight())
        #expect(try await purl(["check", "film"]) == (0, ["film: right, 4.20 MB in 5 pieces"]))
    }

    @Test(
        "One wrong bit costs one request for one piece", arguments: [1, 4],
        [0, 3 * mebi + 5, 4 * mebi + 999])
    func oneBit(connections: Int, offset: Int) async throws {
        try writeList()
        let (film, damaged) = (film, damaged(at: offset))
        // Whichever response first brings the byte has it wrong.
        let isFirst = Mutex(true)
        let url = server.route(
            "/film",
            .computed { request in
                let numbers = (request.fields["Range"] ?? "bytes=0-").dropFirst(6).split(separator: "-")
                let (first, last) = (Int(numbers.first ?? "0") ?? 0, numbers.count > 1 ? Int(numbers[1]) ?? .max : .max)
                guard first...last ~= offset else { return film }
                let isDamaged = isFirst.withLock { isFirst in
                    defer { if connections == 1 || numbers.count > 1 { isFirst = false } }
                    return isFirst
                }
                return isDamaged ? damaged : film
            })
        let (code, lines) = try await purl([
            "get", url.absoluteString, "--connections", "\(connections)", "--digests", "list",
        ])
        #expect(code == 0, "\(lines)")
        #expect(try isRight())
        let piece = offset / Self.mebi * Self.mebi
        let last = min(piece + Self.mebi, Self.content.size) - 1
        if connections == 1 {
            #expect(ranges(server) == ["", "bytes=\(piece)-\(last)"])
            #expect(lines.contains("film: bytes \(piece)-\(last) are damaged, and are fetched again"))
            #expect(lines.last?.hasPrefix("film: complete and checked, 4.20 MB") == true)
        }
    }

    @Test("A server whose piece is wrong again and again fails, and nothing is left in its place", arguments: [1, 4])
    func alwaysWrong(connections: Int) async throws {
        try writeList()
        let url = server.route("/film", damaged(at: 3 * Self.mebi + 5)).absoluteString
        let (code, lines) = try await purl(["get", url, "--connections", "\(connections)", "--digests", "list"])
        #expect(code == 1)
        #expect(
            lines.contains { $0.contains("The server's bytes 3145728-4194303 are not those of the list.") }, "\(lines)")
        #expect(!folder.names.contains("film"))
    }

    @Test("The mirror brings the piece that the first server has wrong", arguments: [2, 4])
    func fromMirror(connections: Int) async throws {
        try writeList()
        let url = server.route("/film", damaged(at: 3 * Self.mebi + 5)).absoluteString
        let second = mirror.route("/film", Reply.generated(Self.content).entityTag("\"other\"")).absoluteString
        let (code, lines) = try await purl([
            "get", url, "--mirror", second, "--connections", "\(connections)", "--digests", "list",
        ])
        #expect(code == 0, "\(lines)")
        #expect(try isRight())
        #expect(mirror.requests.dropFirst().allSatisfy { $0.fields["If-Range"] == "\"other\"" })
        #expect(mirror.requests.allSatisfy { $0.fields["Range"] != nil })
    }

    @Test(
        "Pieces of any length are checked, and a list of a file of another length is refused before its first byte",
        arguments: [1, 4])
    func lengths(connections: Int) async throws {
        try writeList(Self.list(pieceLength: 1_000_000))
        let url = server.route("/film", film).absoluteString
        let words = ["get", url, "--connections", "\(connections)", "--digests", "list"]
        #expect(try await purl(words + ["--piece-length", "1000000"]).exitCode == 0)
        #expect(try isRight())
        let (code, lines) = try await purl(words + ["--piece-length", "2000000", "-o", "again"])
        #expect(code == 1)
        #expect(lines.last == "purl: The server's file has 4195304 bytes, which the list of pieces is not about.")
        #expect(folder.names == ["film", "list"])
    }

    @Test("A file whose server has no ranges is compared with the list at the end")
    func withoutRanges() async throws {
        try writeList()
        let url = server.route("/film", Reply.generated(Self.content).acceptRanges("none")).absoluteString
        #expect(try await purl(["get", url, "--digests", "list"]).exitCode == 0)
        #expect(try isRight())
        let wrong = server.route("/wrong", Reply.generated(Self.other).acceptRanges("none")).absoluteString
        let (code, lines) = try await purl(["get", wrong, "--digests", "list"])
        #expect(code == 1)
        #expect(lines.last == "purl: “wrong” has other pieces than the list. The received bytes were removed.")
        #expect(folder.names == ["film", "list"])
    }

    @Test("A file that is there and right is not requested, and one that is damaged is")
    func there() async throws {
        try writeList()
        let url = server.route("/film", film).absoluteString
        try Self.content.data.write(to: folder.file("film"))
        let words = ["get", url, "-o", "film", "--digests", "list"]
        #expect(try await purl(words).lines == ["film: already complete and checked (4.20 MB)"])
        #expect(server.requests.isEmpty)
        var data = Self.content.data
        data[5] ^= 1
        try data.write(to: folder.file("film"))
        #expect(try await purl(words).exitCode == 0)
        #expect(server.requests.count == 1)
        #expect(try isRight())
    }

    /// The first piece of which the ledger behind the unfinished file has a digest.
    private func digestedPiece() throws -> Int? {
        let bytes = try Data(contentsOf: folder.file("film.part"))
        let ledger = (Self.long.size + 4095) / 4096 * 4096 + 2 * 4096 + 64
        return (0..<8).first { index in
            let entry = ledger + index * 32
            return bytes.count >= entry + 32 && bytes[entry..<entry + 32].contains { $0 != 0 }
        }
    }

    @Test("After a kill a damaged piece is fetched again, and the others are not", arguments: ["1", "4"])
    func damagedAfterKill(connections: String) async throws {
        let gate = ServerGate()
        let url = server.route(
            "/film", Reply.generated(Self.long).entityTag("\"v1\"").stalled(at: .midBody, until: gate))
        let words = ["get", url.absoluteString, "--connections", "4", "--keep-digests"]
        let process = try PurlProcess(words + ["--json"], in: folder)
        await gate.reached(times: 4)
        // Until half of the file is there.
        for await line in process.lines {
            let event = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            if event?["event"] as? String == "progress", let bytes = event?["bytes"] as? Int,
                bytes >= Self.long.size / 2
            {
                break
            }
        }
        while try digestedPiece() == nil, !Task.isCancelled { await Task.yield() }
        process.signal(SIGINT)
        _ = await process.exitCode
        gate.open()
        let unfinished = try await purl(["list", "--json"])
        let event = try JSONSerialization.jsonObject(with: Data(try #require(unfinished.lines.first).utf8))
        let parts = try #require((event as? [String: Any])?["ranges"] as? [[Int]])
        let piece = try #require(try digestedPiece())
        let offset = piece * Self.mebi + 77
        #expect(parts.contains { $0[0] <= offset && offset <= $0[1] })
        var bytes = folder.contents("film.part")
        bytes[offset] ^= 4
        let handle = try FileHandle(forUpdating: folder.file("film.part"))
        try handle.write(contentsOf: bytes)
        try handle.close()
        server.forgetRequests()

        let (code, lines) = try await purl(["get", url.absoluteString, "--connections", connections])
        #expect(code == 0, "\(lines)")
        #expect(try Self.long.matches(fileAt: folder.file("film")))
        #expect(server.requests.allSatisfy { $0.fields["If-Range"] == "\"v1\"" })
        #expect(folder.names == ["film"])
    }
}
