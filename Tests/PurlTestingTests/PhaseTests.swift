import Foundation
import PurlTesting
import Testing

@Suite("Phases of a response")
struct PhaseTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nAccept-Ranges: bytes\r\nTrailer: X-Sum\r\n\r\n"
    private static let whole = head + "4\r\nabcd\r\n4\r\nefgh\r\n0\r\nX-Sum: 1\r\n\r\n"

    /// What has been sent when a response reaches each phase.
    static let places: [(Reply.Phase, String)] = [
        (.beforeHead, ""),
        (.statusLine, "HTTP/1.1"),
        (.field, "HTTP/1.1 200 OK\r\nTransfer-Enco"),
        (.midHead, String(decoding: head.utf8.prefix(head.utf8.count / 2), as: UTF8.self)),
        (.afterBodyBytes(0), head),
        (.chunk, head + "4\r\nab"),
        (.chunkSize, head + "4\r\nabcd\r\n4"),
        (.midBody, head + "4\r\nabcd"),
        (.trailers, head + "4\r\nabcd\r\n4\r\nefgh\r\n0\r\nX-Sum"),
    ]

    private var reply: Reply {
        .bytes(Data("abcdefgh".utf8)).chunked(size: 4, trailers: ["X-Sum": "1"])
    }

    @Test("A cut at a phase sends everything before it and nothing after", arguments: places)
    func cut(phase: Reply.Phase, sent: String) async throws {
        let server = try LoopbackServer()
        server.route("/", reply.fault(.cut, at: phase))
        let client = try RawClient(to: server)
        await client.get("/")
        let end = await client.readToEnd()
        #expect(String(decoding: end.data, as: UTF8.self) == sent)
        #expect(server.requests.map(\.ending) == [.cut])
    }

    @Test("A stall at a phase sends the rest once its gate opens", arguments: Reply.Phase.allCases)
    func stall(phase: Reply.Phase) async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/", reply.fault(.stall(until: gate), at: phase))
        let client = try RawClient(to: server)
        await client.get("/")
        await gate.reached()
        gate.open()
        #expect(await client.readText(Self.whole.utf8.count) == Self.whole)
        #expect(gate.arrivals == 1)
    }

    @Test("A response without the phase is sent unharmed", arguments: [Reply.Phase.chunk, .chunkSize, .trailers])
    func unharmed(phase: Reply.Phase) async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.text("abc").fault(.reset, at: phase))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(String(await client.readResponse().body) == "abc")
    }

    @Test("A fault with times holds for the first responses only")
    func times() async throws {
        let server = try LoopbackServer()
        server.route("/", reply.fault(.cut, at: .chunkSize, times: 1))
        for sent in [Self.head + "4\r\nabcd\r\n4", Self.whole] {
            let client = try RawClient(to: server)
            await client.get("/", "Connection: close")
            let text = String(decoding: await client.readToEnd().data, as: UTF8.self)
            #expect(text.replacingOccurrences(of: "Connection: close\r\n", with: "") == sent)
        }
    }
}
