import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The delegate's decision on a redirect", .timeLimit(.minutes(5)))
struct RedirectDecisionTests {
    private let sandbox = Sandbox()

    @Test("Returning the proposed request follows the redirect")
    func follow() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "/end"))
        server.route("/end", .text("end"))
        let witness = Witness()
        let task = sandbox.session(witness).dataTask(with: url).resumed()
        await witness.completion()
        #expect(witness.events == [.redirect(302, to: "/end"), .response(200), .data(3), .completed(nil)])
        #expect(task.originalRequest?.url == url)
        #expect(task.currentRequest?.url == server.url("/end"))
        #expect(task.response?.url == server.url("/end"))
    }

    @Test("Returning another request loads that one", arguments: LoadForm.allCases)
    func change(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "/end"))
        let elsewhere = other.route("/elsewhere", .text("elsewhere"))
        let witness = Witness(redirect: { request in
            var request = request
            request.url = elsewhere
            request.httpMethod = "POST"
            request.httpBody = Data("mine".utf8)
            request.setValue("yes", forHTTPHeaderField: "X-Changed")
            return request
        })
        let outcome = try await form.load(URLRequest(url: url), witness: witness)
        outcome.expectSuccess(Data("elsewhere".utf8))
        #expect(outcome.response?.url == elsewhere)
        #expect(server.requests.map(\.path) == ["/start"])
        #expect(other.requests.map(\.method) == ["POST"])
        #expect(other.requests.map(\.body) == [Data("mine".utf8)])
        #expect(other.requests.map { $0.fields["X-Changed"] } == ["yes"])
    }

    @Test(
        "Returning nil makes the redirect response and its body the result", arguments: LoadForm.allCases,
        [301, 302, 303, 307, 308])
    func refuse(form: LoadForm, status: Int) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 200_000, seed: 11)
        let url = server.route("/start", .generated(content).status(status).field("Location", "/end"))
        let outcome = try await form.load(URLRequest(url: url), witness: Witness(redirect: { _ in nil }))
        outcome.expectSuccess(content.data)
        #expect(outcome.response?.statusCode == status)
        #expect(outcome.response?.url == url)
        #expect(outcome.response?.value(forHTTPHeaderField: "location") == "/end")
        #expect(outcome.events.first == .redirect(status, to: "/end"))
        #expect(server.requests.map(\.path) == ["/start"])
    }

    @Test("Returning nil for a redirect without a body completes with the empty response", arguments: LoadForm.allCases)
    func refuseEmpty(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "/end"))
        let outcome = try await form.load(URLRequest(url: url), witness: Witness(redirect: { _ in nil }))
        outcome.expectSuccess(Data())
        #expect(outcome.response?.statusCode == 302)
    }

    @Test("Returning nil for a later redirect makes that one the result")
    func refuseSecond() async throws {
        let server = try LoopbackServer()
        let url = server.route("/1", .redirect(to: "/2"))
        server.route("/2", .text("here").status(307).field("Location", "/3"))
        let witness = Witness(redirect: { $0.url?.path == "/3" ? nil : $0 })
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness)
        outcome.expectSuccess(Data("here".utf8))
        #expect(
            outcome.events == [
                .redirect(302, to: "/2"), .redirect(307, to: "/3"), .response(307), .data(4), .completed(nil), .invalid,
            ])
        #expect(outcome.response?.url == server.url("/2"))
    }

    @Test("No request is sent before the delegate decides, and a task cancelled meanwhile ends")
    func cancelInTheCall() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "/end"))
        let witness = Witness(hook: { task, event in if case .redirect = event { task.cancel() } })
        sandbox.session(witness).dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events == [.redirect(302, to: "/end"), .completed(.cancelled)])
        #expect(server.requests.map(\.path) == ["/start"])
    }

    @Test("The error of a failed chain and the task's current request name the last URL")
    func failedChain() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .redirect(to: "/end"))
        server.route("/end", .text("end").cut(at: .midHead))
        let witness = Witness()
        let task = sandbox.session(witness).dataTask(with: url).resumed()
        await witness.completion()
        #expect(witness.error(of: task)?.failingURL == server.url("/end"))
        #expect(task.originalRequest?.url == url)
        #expect(task.currentRequest?.url == server.url("/end"))
    }
}

@Suite("The body of a redirect response", .timeLimit(.minutes(5)))
struct RedirectBodyTests {
    private let sandbox = Sandbox()

    /// The body of the redirect, whether it arrives, and whether the connection is used again.
    static let bodies: [(name: String, reply: Reply, staysOpen: Bool)] = [
        ("none", .status(302), true),
        ("short", .generated(size: 1000), true),
        ("64 KiB", .generated(size: 65_536), true),
        ("long", .generated(size: 4_000_000), false),
        ("long and endless", .generated(size: 4_000_000).stalled(afterBytes: 100_000), false),
        ("short and cut", .generated(size: 1000).cut(afterBytes: 500), false),
        ("short and reset", .generated(size: 1000).reset(afterBytes: 500), false),
        ("until close", .generated(size: 1000).untilClose(), false),
        ("until close that never comes", .generated(size: 1000).untilClose().stalled(afterBytes: 500), false),
    ]

    @Test(
        "A redirect's body is not delivered and does not delay the next request", arguments: bodies, LoadForm.allCases)
    func body(row: (name: String, reply: Reply, staysOpen: Bool), form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", row.reply.status(302).field("Location", "/end"))
        server.route("/end", .text("end"))
        let outcome = try await form.load(url)
        outcome.expectSuccess(Data("end".utf8))
        #expect(server.requests.map(\.path) == ["/start", "/end"])
        #expect(server.requests.map(\.connection) == (row.staysOpen ? [1, 1] : [1, 2]))
    }

    @Test("A chunked redirect body, whole, cut or endless, does not prevent the redirect", arguments: LoadForm.allCases)
    func chunked(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let body = Reply.generated(size: 50_000).chunked(size: 1000).status(302).field("Location", "/end")
        server.route("/end", .text("end"))
        for reply in [body, body.cut(afterBytes: 1500), body.stalled(afterBytes: 1500)] {
            try await form.load(server.route("/start", reply)).expectSuccess(Data("end".utf8))
        }
    }

    @Test("A malformed redirect body does not prevent the redirect")
    func brokenChunks() async throws {
        let server = try LoopbackServer()
        let head = "HTTP/1.1 302 Found\r\nLocation: /end\r\nTransfer-Encoding: chunked\r\n\r\n"
        let url = server.route("/start", .raw(head + "zz\r\n", then: .keepOpen))
        server.route("/end", .text("end"))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("end".utf8))
    }

    @Test("A redirect's body does not count as received bytes")
    func counts() async throws {
        let server = try LoopbackServer()
        let url = server.route("/start", .generated(size: 1000).status(302).field("Location", "/end"))
        server.route("/end", .text("end"))
        let witness = Witness()
        let task = sandbox.session(witness).dataTask(with: url).resumed()
        await witness.completion()
        #expect(task.countOfBytesReceived == 3)
        #expect(task.countOfBytesExpectedToReceive == 3)
    }
}
