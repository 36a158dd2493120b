import Foundation
import PurlTesting
import Testing

@Suite("WebSockets of the server", .timeLimit(.minutes(5)))
struct WebSocketTests {
    static func handshake(_ more: String = "") -> Data {
        Data(
            ("GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(more)\r\n").utf8)
    }

    static func response(_ more: String = "") -> Data {
        Data(
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\(more)\r\n").utf8)
    }

    /// A client's frame with a key of zeros, which leaves the content as it is.
    static func frame(_ first: UInt8, _ content: String) -> Data {
        Data([first, 0x80 | UInt8(content.utf8.count), 0, 0, 0, 0]) + Data(content.utf8)
    }

    func exchange(_ script: WebSocketScript, _ handshake: Data, _ frames: Data) async throws -> (Data, LoopbackServer) {
        let server = try await LoopbackServer.started()
        server.route("/ws", .webSocket(script))
        let client = try RawClient(to: server)
        await client.send(handshake + frames)
        return (await client.readToEnd().data, server)
    }

    @Test("An echo accepts the handshake, and answers messages, pings and the close frame")
    func echo() async throws {
        let frames = Self.frame(0x81, "hi") + Self.frame(0x89, "p") + Self.frame(0x88, "")
        let (bytes, server) = try await exchange(.echo, Self.handshake(), frames)
        #expect(bytes == Self.response() + Data([0x81, 2]) + Data("hi".utf8) + Data([0x8A, 1, 0x70, 0x88, 0]))
        let webSocket = try #require(server.webSockets.first)
        #expect(webSocket.messages == [.text("hi")])
        #expect(webSocket.pings == [Data("p".utf8)])
        #expect(webSocket.hasReceivedClose)
        #expect(webSocket.closeCode == nil)
        #expect(webSocket.description.hasPrefix("WebSocket of request 0: 1 message, 2 bytes, closed, "))
        await server.wait { $0.webSockets.first?.ending == .complete }
        #expect(
            server.webSockets.first?.description == "WebSocket of request 0: 1 message, 2 bytes, closed, complete")
        #expect(server.requests.first?.ending == .complete)
    }

    @Test("Steps run in order, and raw bytes are sent as they are")
    func steps() async throws {
        let script = WebSocketScript.listening.text("a").data(Data([1])).ping(Data([2])).bytes(Data([0xFF])).cut()
        let (bytes, server) = try await exchange(script, Self.handshake(), Data())
        #expect(bytes == Self.response() + Data([0x81, 1, 0x61, 0x82, 1, 1, 0x89, 1, 2, 0xFF]))
        await server.wait { $0.webSockets.first?.ending == .cut }
    }

    @Test("A script waits for messages, then closes with a code")
    func waiting() async throws {
        let script = WebSocketScript.listening.receive(2).text("both").close(4000, reason: "ok")
        let frames = Self.frame(0x82, "1") + Self.frame(0x82, "2") + Self.frame(0x88, "")
        let (bytes, _) = try await exchange(script, Self.handshake(), frames)
        #expect(
            bytes == Self.response() + Data([0x81, 4]) + Data("both".utf8) + Data([0x88, 4, 0x0F, 0xA0])
                + Data("ok".utf8))
    }

    @Test("A subprotocol and compression are agreed on when the client offers them")
    func agreement() async throws {
        let offer = "Sec-WebSocket-Protocol: a, b\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
        let script = WebSocketScript.listening.subprotocols(["b"]).compression().close()
        let (bytes, server) = try await exchange(script, Self.handshake(offer), Self.frame(0x88, ""))
        let agreement = "Sec-WebSocket-Protocol: b\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
        #expect(bytes == Self.response(agreement) + Data([0x88, 2, 0x03, 0xE8]))
        #expect(server.webSockets.first?.subprotocol == "b")
        #expect(server.webSockets.first?.isCompressed == true)
    }

    @Test("A client that breaks the protocol gets a close frame with the code for it")
    func violations() async throws {
        let (bytes, server) = try await exchange(.echo, Self.handshake(), Data([0x81, 0x01, 0x61]))
        #expect(bytes == Self.response() + Data([0x88, 2, 0x03, 0xEA]))
        #expect(server.webSockets.first?.violation == "A frame of the client is not masked.")
    }

    @Test("A request that is no handshake gets a 400")
    func refusal() async throws {
        let request = Data("GET /ws HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        let (bytes, server) = try await exchange(.echo, request, Data())
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(server.webSockets.isEmpty)
    }
}
