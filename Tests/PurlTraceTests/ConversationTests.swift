import Foundation
import Purl
import PurlTesting
import PurlTrace
import Testing

@Suite("Recording names, WebSockets and streams", .timeLimit(.minutes(5)))
struct ConversationTests {
    @Test("The look-up of a name is recorded with the addresses that it found")
    func lookUp() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/note", .text("hello"))
        let named = url.absoluteString.replacing("127.0.0.1", with: "localhost")
        _ = await traced.run(URLRequest(url: try #require(URL(string: named))))
        let difference = traced.trace.difference(
            from: """
                …
                network   dials localhost:…
                network   looks up localhost
                network   finds …127.0.0.1…
                …
                network   connected to …
                …
                """)
        #expect(difference == nil)
        #expect(Diagram(traced.trace).svg.contains("looks up localhost</text>"))
        #expect(try TransferTrace.Recording(json: traced.trace.recording.json).events == traced.trace.events)
    }

    @Test("Messages and control frames of a WebSocket are recorded in both directions")
    func webSocket() async throws {
        var options = TransferTrace.Options()
        options.maximumContent = 1000
        options.startDate = Date(timeIntervalSince1970: 1000)
        let traced = try TracedSession(options)
        let url = traced.server.route("/chat", .webSocket())
        let address = try #require(URL(string: url.absoluteString.replacing("http:", with: "ws:")))
        let task = traced.session.webSocketTask(with: address)
        task.resume()
        try await task.send(.string("hello"))
        _ = try await task.receive()
        try await task.send(.data(Data([1, 2, 3])))
        _ = try await task.receive()
        try await task.sendPing()
        task.cancel(with: .normalClosure, reason: nil)
        await traced.trace.waits { $0.kind.ends(.didComplete) }
        let difference = traced.trace.difference(
            from: """
                …
                network   receives 101 Switching Protocols…
                …
                network   sends a text message, 5 bytes
                …
                network   receives a text message, 5 bytes
                …
                network   sends a binary message, 3 bytes
                …
                network   receives a binary message, 3 bytes
                …
                network   sends a ping
                …
                network   receives a pong
                …
                network   sends a close frame, 1000
                …
                network   receives a close frame, 1000
                …
                delegate  begins didCloseWith (1000)
                …
                """)
        #expect(difference == nil)
        let svg = Diagram(traced.trace).svg
        #expect(svg.contains(">a text message, 5 bytes</text>"))
        #expect(try TransferTrace.Recording(json: traced.trace.recording.json) == traced.trace.recording)
        let archive = String(decoding: try HTTPArchive(traced.trace).data, as: UTF8.self)
        #expect(archive.contains("\"_resourceType\" : \"websocket\""))
        #expect(archive.contains("\"data\" : \"hello\""))
        #expect(archive.contains("\"data\" : \"AQID\""))
        #expect(PacketCapture(traced.trace).data.count > 100)
    }

    @Test("Bytes of a stream task are recorded in both directions")
    func stream() async throws {
        let traced = try TracedSession()
        let url = traced.server.route("/raw", .stream(.echo, after: "HTTP/1.1 200 OK\r\n\r\n"))
        let port = try #require(url.port)
        let task = traced.session.streamTask(withHostName: "127.0.0.1", port: port)
        task.resume()
        try await task.write(Data("GET /raw HTTP/1.1\r\nHost: x\r\n\r\n".utf8), timeout: 0)
        _ = try await task.readData(ofMinLength: 1, maxLength: 100, timeout: 0)
        task.cancel()
        await traced.trace.waits { $0.kind.ends(.didComplete) }
        let sent = traced.trace.events.contains { $0.kind == .streamSent(30) }
        #expect(sent)
        #expect(traced.trace.events.contains { if case .streamReceived = $0.kind { true } else { false } })
        #expect(TextTrace(traced.trace).text.contains("sends 30 bytes of the stream"))
    }
}
