import Foundation
import PurlTesting
import Testing

@Suite("Faults")
struct FaultTests {
    @Test(
        "A stall sends and records so many bytes, and the rest once its gate opens",
        arguments: [
            Reply.generated(size: 100_000), Reply.generated(size: 100_000).throttled(bytesPerSecond: 10_000_000),
        ])
    func stall(_ reply: Reply) async throws {
        let content = GeneratedContent(size: 100_000)
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/", reply.stalled(afterBytes: 1_000, until: gate))
        let client = try RawClient(to: server)
        await client.get("/")
        await gate.reached()
        _ = await client.readHead()
        #expect(content.matches(await client.read(1_000)))
        #expect(server.requests.map(\.bytesSent) == [1_000])
        #expect(server.requests.map(\.ending) == [nil])
        gate.open()
        #expect(content.matches(await client.read(99_000), at: 1_000))
        let requests = await server.waitUntilIdle()
        #expect(requests.map(\.bytesSent) == [100_000])
        #expect(requests.map(\.ending) == [.complete])
    }

    @Test(
        "A stall before or in the head sends the head's beginning only",
        arguments: [
            (Reply.Phase.beforeHead, ""), (.midHead, "HTTP/1.1 404 Not Fou"), (.afterBodyBytes(0), nil),
        ] as [(Reply.Phase, String?)])
    func stallInHead(_ phase: Reply.Phase, _ beginning: String?) async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route(
            "/", Reply.text("").status(404).replacingField("Content-Type", nil).stalled(at: phase, until: gate))
        let client = try RawClient(to: server)
        await client.get("/")
        let whole = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        if let beginning {
            await gate.reached()
            #expect(await client.readText(beginning.utf8.count) == beginning)
            gate.open()
            #expect(await client.readText(whole.utf8.count - beginning.utf8.count) == whole.dropFirst(beginning.count))
        } else {
            #expect(await client.readText(whole.utf8.count) == whole)
            #expect(gate.arrivals == 0)
        }
    }

    @Test("A delayed response is sent after its interim responses, once the gate opens")
    func delay() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/", Reply.text("x").interim(103).delayed(until: gate).delayed(by: .milliseconds(1)))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readHead() == "HTTP/1.1 103 Early Hints\r\n\r\n")
        await gate.reached()
        gate.open()
        #expect(String(await client.readResponse().body) == "x")
    }

    @Test("A client that leaves during a stall ends the response", arguments: [false, true])
    func leavingStall(resets: Bool) async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.text("abc").stalled(afterBytes: 1))
        var client: RawClient? = try RawClient(to: server)
        await client?.get("/")
        _ = await client?.readHead()
        #expect(await client?.readText(1) == "a")
        if resets { client?.resetWhenReleased() }
        client = nil
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
    }

    @Test("A client that leaves during a long response ends it")
    func leavingResponse() async throws {
        let server = try LoopbackServer()
        server.route("/", .generated(size: 1 << 40))
        var client: RawClient? = try RawClient(to: server)
        await client?.get("/")
        #expect(await client?.read(1 << 20).count == 1 << 20)
        client = nil
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.clientLeft])
    }

    @Test(
        "A reset fails the client's next read with ECONNRESET",
        arguments: [Reply.Phase.beforeHead, .midHead, .afterBodyBytes(2)])
    func reset(_ phase: Reply.Phase) async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.text("abc").reset(at: phase))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readToEnd().end == .failed(ECONNRESET))
        // The reset reaches the client before the server has written down that it sent it.
        await server.waitUntilDisconnected()
        #expect(server.requests.map(\.ending) == [.reset])
    }

    @Test("A fault at a place that no body has does not happen", arguments: [1_001, Int.max])
    func shareBeyondTheEnd(share: Int) async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.text("abc").reset(at: .bodyShare(perMille: share)))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readResponse().body == Data("abc".utf8))
    }

    @Test("A raw reply can end with a reset")
    func rawReset() async throws {
        let server = try LoopbackServer()
        server.route("/", .raw("HTTP/1.1 200", then: .reset))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readToEnd().end == .failed(ECONNRESET))
    }

    @Test("A cut response is recorded with its bytes sent")
    func cut() async throws {
        let server = try LoopbackServer()
        server.route("/", Reply.generated(size: 10 << 20).cut(afterBytes: 3_000_001, times: 1))
        for (count, ending) in [(3_000_001, LoopbackServer.Ending.cut), (10 << 20, .complete)] {
            let client = try RawClient(to: server)
            await client.get("/", "Connection: close")
            _ = await client.readHead()
            #expect(await client.readToEnd().data.count == count)
            #expect(server.requests.last?.bytesSent == count)
            #expect(server.requests.last?.ending == ending)
        }
    }

    @Test("Throttled content arrives complete", arguments: [1, 3, 50, 200_000])
    func throttle(bytesPerSecond: Int) async throws {
        let size = bytesPerSecond == 1 ? 1 : max(2, bytesPerSecond / 20)
        let server = try LoopbackServer()
        server.route("/", Reply.generated(size: size).throttled(bytesPerSecond: bytesPerSecond))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(GeneratedContent(size: size).matches(await client.readResponse().body))
    }
}
