import Foundation
import Purl
import PurlTesting
import Testing

/// Every place at which it may end is in the fault matrix.
@Suite("A connection that ends before the message does: networkConnectionLost", .timeLimit(.minutes(5)))
struct LostConnectionTests {
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
        let url = server.route("/file", Reply.generated(size: 300_000).stalled(afterBytes: 1000, until: gate))
        async let outcome = form.load(url)
        await gate.reached()
        server.stop()
        try await outcome.expectFailure(.networkConnectionLost, at: url)
    }
}
