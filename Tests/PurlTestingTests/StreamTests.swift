import Foundation
import PurlTesting
import Testing

@Suite("Streams without HTTP", .timeLimit(.minutes(5)))
struct StreamTests {
    private func server(_ script: StreamScript) async throws -> LoopbackServer {
        let server = try await LoopbackServer.started()
        server.stream(script)
        return server
    }

    private func stream(of server: LoopbackServer) async -> ReceivedStream? {
        await server.wait { $0.streams.first?.ending != nil }
        return server.streams.first
    }

    @Test("An echo sends every byte back, and ends its stream after the client")
    func echo() async throws {
        let server = try await server(.echo)
        let client = try RawClient(to: server)
        await client.send("hello")
        client.finishSending()
        #expect(await client.readTextToEnd() == "hello")
        let stream = await stream(of: server)
        #expect(stream?.text == "hello")
        #expect(stream?.hasEnded == true)
        #expect(stream?.ending == .complete)
        #expect(stream?.request == nil)
        #expect(stream?.description == "stream: 5 bytes received, complete")
    }

    @Test("Steps run in order")
    func steps() async throws {
        let gate = ServerGate()
        let server = try await server(
            .listening.send("220 ready\r\n").expect("HELO\r\n").send("250 hello\r\n").receive(8).wait(at: gate)
                .send("end").finish())
        let client = try RawClient(to: server)
        #expect(await client.readText(11) == "220 ready\r\n")
        await client.send("HELO\r\n")
        #expect(await client.readText(11) == "250 hello\r\n")
        await client.send("xy")
        await gate.reached()
        gate.open()
        #expect(await client.readTextToEnd() == "end")
        client.finishSending()
        #expect(await stream(of: server)?.surprise == nil)
    }

    @Test("Bytes that a step did not expect reset the connection and are reported")
    func surprise() async throws {
        let server = try await server(.listening.expect("HELO\r\n").send("250 hello\r\n"))
        let client = try RawClient(to: server)
        await client.send("EHLO\r\n")
        let stream = await stream(of: server)
        #expect(stream?.surprise?.contains("EHLO") == true)
        #expect(stream?.ending == .reset)
    }

    @Test("A client that ends its stream before the expected bytes closes the connection", arguments: [false, true])
    func missing(isCounted: Bool) async throws {
        let server = try await server(
            isCounted ? .listening.send("a").receive(8) : .listening.send("a").expect("HELO\r\n"))
        let client = try RawClient(to: server)
        await client.send("HE")
        client.finishSending()
        #expect(await client.readTextToEnd() == "a")
        let stream = await stream(of: server)
        #expect(stream?.surprise?.contains("the end of the stream came") == true)
        #expect(stream?.ending == .clientLeft)
    }

    @Test("A cut closes the connection")
    func cut() async throws {
        let server = try await server(.listening.send("a").cut())
        let client = try RawClient(to: server)
        #expect(await client.readTextToEnd() == "a")
        #expect(await stream(of: server)?.ending == .cut)
    }

    @Test("Generated content arrives complete")
    func generated() async throws {
        let content = GeneratedContent(size: 3 << 20, seed: 2)
        let server = try await server(.listening.send(content).cut())
        let client = try RawClient(to: server)
        let data = await client.readToEnd().data
        #expect(data.count == content.size && content.matches(data))
    }

    @Test("A route can switch from HTTP to a stream")
    func upgrade() async throws {
        let server = try await LoopbackServer.started()
        server.route("/", .stream(.echo.send("hi"), upgrade: "chat"))
        let client = try RawClient(to: server)
        await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nearly")
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n"
        let response = head + "hiearly"
        let received = await client.readText(response.utf8.count)
        #expect(received.hasPrefix(head) && received.count == response.count)
        client.finishSending()
        #expect(await stream(of: server)?.request == server.requests.first?.number)
    }

    @Test("A server without a stream script speaks HTTP again")
    func backToHTTP() async throws {
        let server = try await server(.echo)
        server.stream(nil)
        server.route("/", .text("x"))
        let client = try RawClient(to: server)
        await client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(await client.readTextToEnd().hasSuffix("x"))
        #expect(server.streams.isEmpty)
    }
}
