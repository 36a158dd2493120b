import Foundation
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("Mirrors that are asked at the same time", .timeLimit(.minutes(5)))
struct SimultaneousMirrorTests {
    private static let mebi = 1 << 20
    private static let content = GeneratedContent(size: 6 * mebi, seed: 95)
    private static let other = GeneratedContent(size: 6 * mebi, seed: 96)
    private static let digest = content.sha256
    private static let otherDigest = other.sha256

    let folder = TemporaryFolder()
    let servers: [LoopbackServer]
    let urls: [String]

    init() throws {
        servers = try (0..<2).map { _ in try LoopbackServer() }
        urls = servers.map { $0.url("/film.bin").absoluteString }
    }

    /// The first server's response to the request for the whole does not end before the mirror was asked.
    private func route(_ mirror: Reply, first: Reply = .generated(content)) -> ServerGate {
        let gate = ServerGate()
        servers[0].route("/film.bin", first.entityTag("\"a\"").stalled(at: .midBody, until: gate))
        servers[1].route("/film.bin", mirror)
        return gate
    }

    private func get(_ options: String...) async throws -> (exitCode: Int32, lines: [String]) {
        try await PurlProcess.run(
            ["get", urls[0], "--mirror", urls[1], "--connections", "4"] + options, in: folder)
    }

    /// Opens the gate when the mirror has been asked so many times.
    private func run(
        _ gate: ServerGate, _ options: String..., requests: Int = 1
    ) async throws -> (exitCode: Int32, lines: [String]) {
        async let result = PurlProcess.run(
            ["get", urls[0], "--mirror", urls[1], "--connections", "4"] + options, in: folder)
        _ = await servers[1].waitForRequests(requests)
        gate.open()
        return try await result
    }

    private func isRight() throws -> Bool {
        try folder.names == ["film.bin"] && Self.content.matches(fileAt: folder.file("film.bin"))
    }

    @Test("Each proves its own version, and both bring parts under a checksum")
    func both() async throws {
        let gate = route(.generated(Self.content).entityTag("\"b\""))
        let (code, lines) = try await run(gate, "--sha256", Self.digest)
        #expect(code == 0, "\(lines)")
        #expect(try isRight())
        #expect(servers[1].requests.first?.fields["If-Range"] == nil)
        #expect(servers[1].requests.allSatisfy { $0.fields["Range"] != nil })
        #expect(servers[1].requests.dropFirst().allSatisfy { $0.fields["If-Range"] == "\"b\"" })
        #expect(servers[0].requests.dropFirst().allSatisfy { $0.fields["If-Range"] == "\"a\"" })
    }

    @Test(
        "Without a checksum, and where they do not name the same one, the mirror is asked for no part",
        arguments: [nil, digestField(otherDigest), "sha-512=:AAAA:", "sha-256=:AAAA:"] as [String?])
    func unproven(digest: String?) async throws {
        servers[0].route("/film.bin", Self.digested.entityTag("\"a\""))
        let mirror = Reply.generated(Self.content).entityTag("\"a\"")
        servers[1].route("/film.bin", digest.map { mirror.field("Repr-Digest", $0) } ?? mirror)
        #expect(try await get().exitCode == 0)
        #expect(try isRight())
        #expect(servers[1].requests.map(\.method) == ["HEAD"])
        #expect(servers.allSatisfy { $0.requests.first?.fields["Want-Repr-Digest"] == "sha-256=10" })
    }

    /// The value of a digest field (RFC 9530).
    private static func digestField(_ digest: String) -> String {
        "sha-256=:\(Data(Checksum(digest)?.bytes ?? []).base64EncodedString()):"
    }

    /// The content, which the response names the digest of.
    private static let digested = Reply.generated(content).field("Repr-Digest", digestField(digest))
    private static let otherDigested = Reply.generated(other).field("Repr-Digest", digestField(otherDigest))

    @Test("Servers that name the same digest of the whole both bring parts")
    func agreed() async throws {
        // So large that the mirror is asked for another part when the first one has proved its version.
        let content = GeneratedContent(size: 16 * Self.mebi, seed: 95)
        let film = Reply.generated(content).field("Repr-Digest", Self.digestField(content.sha256))
        let gate = route(film.entityTag("\"b\""), first: film)
        // The first one asks what the mirror has.
        let (code, lines) = try await run(gate, requests: 3)
        #expect(code == 0, "\(lines)")
        #expect(try folder.names == ["film.bin"] && content.matches(fileAt: folder.file("film.bin")))
        #expect(servers[1].requests.contains { $0.fields["If-Range"] == "\"b\"" })
    }

    @Test("Where a mirror has not what it has named, one server alone is asked for the whole")
    func brokenAgreement() async throws {
        let lie = Reply.generated(Self.other).field("Repr-Digest", Self.digestField(Self.digest))
        let gate = route(lie.entityTag("\"b\""), first: Self.digested)
        let (code, lines) = try await run(gate, requests: 2)
        #expect(code == 0, "\(lines)")
        #expect(lines.contains { $0.contains("has the wrong SHA-256") }, "\(lines)")
        #expect(try isRight())
    }

    @Test("A mirror that does not answer holds nothing up for long")
    func silentMirror() async throws {
        servers[0].route("/film.bin", Self.digested.entityTag("\"a\""))
        servers[1].route("/film.bin", Self.digested.stalled(at: .beforeHead))
        #expect(try await get().exitCode == 0)
        #expect(try isRight())
    }

    @Test(
        "Bytes of both resume while the servers name the same digest, and are replaced when they name another",
        arguments: [true, false])
    func agreedAgain(isSame: Bool) async throws {
        let gates = [ServerGate(), ServerGate()]
        for (index, gate) in gates.enumerated() {
            servers[index].route(
                "/film.bin", Self.digested.entityTag("\"\(index)\"").stalled(at: .midBody, until: gate))
        }
        let words = ["get", urls[0], "--mirror", urls[1], "--connections", "4", "-o", "film.bin"]
        let process = try PurlProcess(words, in: folder)
        await gates[1].reached()
        process.signal(SIGINT)
        _ = await process.exitCode
        let (next, digested) = isSame ? (Self.content, Self.digested) : (Self.other, Self.otherDigested)
        for (index, server) in servers.enumerated() {
            gates[index].open()
            server.forgetRequests()
            server.route("/film.bin", digested.entityTag("\"\(isSame ? "" : "v2-")\(index)\""))
        }
        #expect(try await PurlProcess.run(words, in: folder).exitCode == 0)
        // What is there is asked for as a part of the old version.
        #expect(servers[0].requests.contains { $0.fields["If-Range"] == "\"0\"" })
        #expect(try next.matches(fileAt: folder.file("film.bin")))
    }

    @Test(
        "A mirror that has something else, or proves nothing, is named and not asked again",
        arguments: [
            (.generated(GeneratedContent(size: 7 * mebi, seed: 95)).entityTag("\"b\""), "another length"),
            (.generated(content), "does not prove"), (.generated(content).entityTag("W/\"b\""), "does not prove"),
            (.generated(content).entityTag("\"b\"").ignoringRange(), "does not prove"),
            (.status(404), "answered 404"), (.status(503), "answered 503"),
            (.text("x").cut(at: .beforeHead), "connection"),
        ] as [(Reply, String)])
    func dropped(mirror: Reply, reason: String) async throws {
        let gate = route(mirror)
        let (code, lines) = try await run(gate, "--sha256", Self.digest)
        #expect(code == 0, "\(lines)")
        #expect(
            lines.contains { $0.contains(reason) && $0.hasSuffix("No more is requested from \(urls[1])") }, "\(lines)")
        #expect(servers[1].requests.count == 1)
        #expect(try isRight())
    }

    @Test("A mirror's redirect is followed, and later parts are requested where it leads")
    func redirected() async throws {
        let gate = route(.redirect(to: "/moved"))
        servers[1].route("/moved", Reply.generated(Self.content).entityTag("\"b\""))
        #expect(try await run(gate, "--sha256", Self.digest).exitCode == 0)
        #expect(try isRight())
        #expect(servers[1].requests.count { $0.target == "/film.bin" } == 1)
    }

    @Test("Where the mixed file has the wrong checksum, one server alone is asked for the whole")
    func wrongWhole() async throws {
        let gate = route(.generated(Self.other).entityTag("\"b\""))
        let (code, lines) = try await run(gate, "--sha256", Self.digest)
        #expect(code == 0, "\(lines)")
        #expect(lines.contains { $0.contains("has the wrong SHA-256") })
        #expect(try isRight())
        #expect(servers[0].requests.contains { $0.fields["Range"] == nil })
    }

    @Test("Bytes of both resume under the same checksum, and under no other", arguments: [true, false])
    func resumed(isSame: Bool) async throws {
        let gates = [ServerGate(), ServerGate()]
        for (index, gate) in gates.enumerated() {
            servers[index].route(
                "/film.bin",
                Reply.generated(Self.content).entityTag("\"\(index)\"").stalled(at: .midBody, until: gate))
        }
        let words = ["get", urls[0], "--mirror", urls[1], "--connections", "4", "-o", "film.bin"]
        let process = try PurlProcess(words + ["--sha256", Self.digest], in: folder)
        await gates[1].reached()
        process.signal(SIGINT)
        _ = await process.exitCode
        for gate in gates { gate.open() }
        for server in servers { server.forgetRequests() }
        let options = isSame ? ["--sha256", Self.digest] : []
        #expect(try await PurlProcess.run(words + options, in: folder).exitCode == 0)
        #expect(servers[0].requests.contains { $0.fields["Range"] == nil } == !isSame)
        #expect(try isRight())
    }
}
