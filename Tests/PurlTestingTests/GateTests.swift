import PurlTesting
import Testing

@Suite("Gates")
struct GateTests {
    @Test("An open gate does not stop a response")
    func open() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        gate.open()
        gate.open()
        #expect(gate.isOpen)
        server.route("/", Reply.text("abc").stalled(afterBytes: 1, until: gate))
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(String(await client.readResponse().body) == "abc")
        await gate.reached()
        #expect(gate.arrivals == 1)
    }

    @Test("A gate can stop several responses")
    func several() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/", Reply.text("abc").delayed(until: gate))
        let clients = try (0..<3).map { _ in try RawClient(to: server) }
        for client in clients { await client.get("/") }
        await gate.reached(times: 3)
        gate.open()
        for client in clients { #expect(String(await client.readResponse().body) == "abc") }
    }

    @Test("reached returns when its task is cancelled")
    func cancelled() async {
        let gate = ServerGate()
        let waiting = Task { await gate.reached() }
        waiting.cancel()
        await waiting.value
        #expect(gate.arrivals == 0)
    }
}
