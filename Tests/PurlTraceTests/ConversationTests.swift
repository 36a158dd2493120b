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
        let difference = traced.trace.difference(from: [
            .anything,
            .event(.dialling(host: "localhost:\(traced.server.port)")),
            .event(.lookUp(host: "localhost")),
            .event(named: "finds 127.0.0.1") {
                if case .resolved(let addresses) = $0.kind { addresses.contains("127.0.0.1") } else { false }
            },
            .anything,
            .event(named: "connects") { if case .connected = $0.kind { true } else { false } },
            .anything,
        ])
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
        let text = TransferTrace.WebSocketFrame(form: .text, count: 5, content: Data("hello".utf8))
        let binary = TransferTrace.WebSocketFrame(form: .binary, count: 3, content: Data([1, 2, 3]))
        let difference = traced.trace.difference(from: [
            .anything,
            .received(status: 101),
            .anything,
            .event(.frameSent(text)),
            .anything,
            .event(.frameReceived(text)),
            .anything,
            .event(.frameSent(binary)),
            .anything,
            .event(.frameReceived(binary)),
            .anything,
            .sent(.ping),
            .anything,
            .received(.pong),
            .anything,
            .sent(.close, code: 1000),
            .anything,
            .received(.close, code: 1000),
            .anything,
            .delegate(.didCloseWith, .closed(code: 1000, reason: "")),
            .anything,
        ])
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

extension TracePattern.Step {
    fileprivate static func sent(_ form: TransferTrace.WebSocketFrame.Form, code: Int? = nil) -> Self {
        .event(named: "sends a \(form) frame") {
            if case .frameSent(let frame) = $0.kind { frame.form == form && frame.closeCode == code } else { false }
        }
    }

    fileprivate static func received(_ form: TransferTrace.WebSocketFrame.Form, code: Int? = nil) -> Self {
        .event(named: "receives a \(form) frame") {
            if case .frameReceived(let frame) = $0.kind { frame.form == form && frame.closeCode == code } else { false }
        }
    }
}
