import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The body of a request", .timeLimit(.minutes(5)))
struct RequestBodyTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let gate = ServerGate()
    static let sizes = [0, 1, 16_383, 16_384, 16_385, 100_000, 10 << 20]

    private func post(_ url: URL, _ body: Data, method: String = "POST") -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        return request
    }

    @Test("A request body of any size is received whole by the server", arguments: sizes, LoadForm.allCases)
    func whole(size: Int, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        let body = GeneratedContent(size: size, seed: 15)
        try await form.load(post(url, body.data)).expectSuccess(Data("done".utf8))
        #expect(server.requests.map { $0.fields["Content-Length"] } == ["\(size)"])
        #expect(server.requests.map { $0.body.isSame(as: body.data) } == [true])
    }

    @Test("didSendBodyData counts the bytes of a request body", arguments: sizes)
    func counted(size: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: post(url, GeneratedContent(size: size).data))
        #expect(task.countOfBytesSent == 0)
        task.resume()
        await witness.completion()
        let sent: [Witness.Event] = size == 0 ? [] : [.sent(Int64(size), of: Int64(size))]
        #expect(witness.events == sent + [.response(200), .data(4), .completed(nil)])
        #expect(task.countOfBytesSent == Int64(size))
        #expect(task.countOfBytesExpectedToSend == Int64(size))
    }

    @Test("A request without a body has the fields for its method")
    func none() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done"))
        let task = sandbox.session(witness).dataTask(with: url).resumed()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(4), .completed(nil)])
        #expect(task.countOfBytesSent == 0)
        #expect(task.countOfBytesExpectedToSend == 0)
        #expect(server.requests.map { $0.fields["Content-Length"] } == [nil])
    }

    @Test("A body waits for a server that does not read")
    func slowServer() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let body = GeneratedContent(size: 16 << 20, seed: 16)
        let task = sandbox.session(witness).dataTask(with: post(url, body.data)).resumed()
        await gate.reached()
        await witness.wait { events in events.contains { if case .sent = $0 { true } else { false } } }
        #expect(task.countOfBytesSent < Int64(body.size))
        gate.open()
        await witness.completion()
        #expect(task.countOfBytesSent == Int64(body.size))
        #expect(server.requests.map { $0.body.isSame(as: body.data) } == [true])
    }

    @Test("A suspended task sends no more of its body")
    func suspended() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let body = GeneratedContent(size: 16 << 20, seed: 17)
        let task = sandbox.session(witness).dataTask(with: post(url, body.data)).resumed()
        await gate.reached()
        task.suspend()
        gate.open()
        task.resume()
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        #expect(server.requests.map { $0.body.isSame(as: body.data) } == [true])
    }

    @Test("Cancelling stops the body in the middle")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("done").takingBody(after: gate))
        let task = sandbox.session(witness).dataTask(with: post(url, Data(count: 16 << 20))).resumed()
        await gate.reached()
        task.cancel()
        await witness.completion()
        gate.open()
        await server.waitUntilDisconnected()
        #expect(witness.events.last == .completed(.cancelled))
        #expect(server.requests.map(\.isComplete) == [false])
    }

    @Test(
        "A final response before the body was read is the result", arguments: [200, 401, 413, 500], LoadForm.allCases)
    func earlyAnswer(status: Int, form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("no").status(status).beforeBody())
        let outcome = try await form.load(post(url, GeneratedContent(size: 16 << 20).data))
        outcome.expectSuccess(Data("no".utf8))
        #expect(outcome.response?.statusCode == status)
    }

    @Test("A redirect before the body was read sends the body to the new URL")
    func earlyRedirect() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(307, to: "/end").beforeBody())
        server.route("/end", .text("end"))
        let body = GeneratedContent(size: 4 << 20, seed: 18)
        try await LoadForm.dataDelegate.load(post(url, body.data, method: "PUT")).expectSuccess(Data("end".utf8))
        #expect(server.requests.map(\.method) == ["PUT", "PUT"])
        #expect(server.requests.last?.body.isSame(as: body.data) == true)
    }

    @Test(
        "A server that closes in the middle of the body makes the load fail with networkConnectionLost",
        arguments: LoadForm.allCases)
    func lost(form: LoadForm) async throws {
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.reset()
        }
        let url = try listener.url("/file")
        let outcome = try await form.load(post(url, Data(count: 16 << 20)))
        outcome.expectFailure(.networkConnectionLost, at: url)
    }

    @Test("A request's own Expect: 100-continue is sent, and the interim 100 is not the result")
    func expectContinue() async throws {
        let server = try LoopbackServer()
        var request = post(server.route("/file", .echo), Data("the body".utf8))
        request.setValue("100-continue", forHTTPHeaderField: "Expect")
        let outcome = try await LoadForm.dataDelegate.load(request)
        #expect(outcome.error == nil)
        #expect(outcome.response?.statusCode == 200)
        #expect(outcome.body.map { String(decoding: $0, as: UTF8.self).hasSuffix("\r\n\r\nthe body") } == true)
    }
}
