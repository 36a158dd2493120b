import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A connection that ends before the message does: networkConnectionLost", .timeLimit(.minutes(5)))
struct LostConnectionTests {
    struct Loss: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: Reply

        init(_ name: String, _ reply: Reply) {
            testDescription = name
            self.reply = reply
        }
    }

    private static let length = Reply.generated(size: 300_000)
    private static let chunked = Reply.generated(size: 300_000).chunked(size: 10_000)

    static let losses = [
        Loss("end of stream before the head", length.cut(at: .beforeHead)),
        Loss("end of stream in the head", length.cut(at: .midHead)),
        Loss("end of stream right after the head", length.cut(afterBytes: 0)),
        Loss("end of stream in the body", length.cut(afterBytes: 100_000)),
        Loss("end of stream one byte early", length.cut(afterBytes: 299_999)),
        Loss("end of stream before the first chunk", chunked.cut(afterBytes: 0)),
        Loss("end of stream in a chunk", chunked.cut(afterBytes: 15_000)),
        Loss("end of stream between chunks", chunked.cut(afterBytes: 20_000)),
        Loss("end of stream before the last chunk", chunked.cut(afterBytes: 300_000)),
        Loss("end of stream in a chunk's size", raw("Transfer-Encoding: chunked", "5\r\nhello\r\n1")),
        Loss("end of stream in the last chunk", raw("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n")),
        Loss("end of stream in the trailers", raw("Transfer-Encoding: chunked", "0\r\nX: y\r\n")),
        Loss("end of stream in the largest chunk", raw("Transfer-Encoding: chunked", "7FFFFFFFFFFFFFFF\r\nhello")),
        Loss("end of stream in the longest body", raw("Content-Length: 9223372036854775807", "hello")),
        Loss("end of stream after an interim response", .raw("HTTP/1.1 100 Continue\r\n\r\n")),
        Loss("reset before the head", length.reset(at: .beforeHead)),
        Loss("reset in the head", length.reset(at: .midHead)),
        Loss("reset right after the head", length.reset(afterBytes: 0)),
        Loss("reset in the body", length.reset(afterBytes: 100_000)),
        Loss("reset in a chunk", chunked.reset(afterBytes: 15_000)),
        Loss("reset of a body that runs until then", length.untilClose().reset(afterBytes: 100_000)),
    ]

    private static func raw(_ field: String, _ body: String) -> Reply {
        .raw("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n\(body)")
    }

    @Test("lost", arguments: losses, LoadForm.allCases)
    func lost(loss: Loss, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", loss.reply)
        let outcome = try await form.load(url)
        outcome.expectFailure(.networkConnectionLost, at: url)
        #expect(server.requests.count == 1)
    }

    @Test("What arrived before the end was delivered before the error", arguments: [1, 100_000, 299_999])
    func bytesComeFirst(count: Int) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 300_000, seed: 3)
        let url = server.route("/file", .generated(content).cut(afterBytes: count))
        let outcome = try await LoadForm.dataDelegate.load(url)
        outcome.expectFailure(.networkConnectionLost, at: url)
        #expect(outcome.body?.isSame(as: content.bytes(0..<count)) == true)
        #expect(outcome.events == [.response(200), .data(count), .completed(.networkConnectionLost), .invalid])
    }

    @Test("A body that runs until the end of the stream ends there", arguments: LoadForm.allCases)
    func untilClose(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 300_000, seed: 4)
        let url = server.route("/file", .generated(content).untilClose())
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(outcome.response?.expectedContentLength == -1)
    }

    @Test("An empty body that runs until the end of the stream is a body", arguments: LoadForm.allCases)
    func emptyUntilClose(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .raw("HTTP/1.0 200 OK\r\n\r\n"))
        try await form.load(url).expectSuccess(Data())
    }

    @Test("A server that is stopped in mid-body has lost the connection", arguments: LoadForm.allCases)
    func stoppedServer(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        let url = server.route("/file", Self.length.stalled(afterBytes: 1000, until: gate))
        async let outcome = form.load(url)
        await gate.reached()
        server.stop()
        try await outcome.expectFailure(.networkConnectionLost, at: url)
    }
}
