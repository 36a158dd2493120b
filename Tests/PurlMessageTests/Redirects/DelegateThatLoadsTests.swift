import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A delegate that loads something from the same server before it answers", .timeLimit(.minutes(5)))
struct DelegateThatLoadsTests {
    private let sandbox = Sandbox()

    /// Answers once it has loaded a token with the same session.
    private final class Asker: NSObject, URLSessionTaskDelegate {
        private let token: URL

        init(_ token: URL) { self.token = token }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            session.dataTask(with: token) { _, _, error in completionHandler(error == nil ? request : nil) }.resume()
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            session.dataTask(with: token) { _, _, error in
                error == nil
                    ? completionHandler(.useCredential, ProtectedResource.credential())
                    : completionHandler(.cancelAuthenticationChallenge, nil)
            }.resume()
        }
    }

    enum Question: CaseIterable, Sendable { case redirect, challenge }

    static let bodies: [@Sendable (_ text: String) -> Reply] = [
        { _ in .text("") }, { .text($0) }, { Reply.text($0).chunked() }, { Reply.text($0).untilClose() },
    ]

    @Test(
        "All tasks end, though as many ask as there may be connections", arguments: Question.allCases, bodies.indices)
    func all(question: Question, body: Int) async throws {
        let server = try LoopbackServer()
        let make = Self.bodies[body]
        let connections = 3
        let token = server.route("/token", .text("token"))
        switch question {
        case .redirect:
            server.route("/place", make("elsewhere").status(302).field("Location", "/inside"))
            server.route("/inside", .text("inside"))
        case .challenge:
            server.route(
                "/place",
                .computed { request in
                    guard request.fields["Authorization"] == nil else { return .text("inside") }
                    return make("who?").status(401).field("WWW-Authenticate", "Basic realm=vault")
                })
        }
        let session = sandbox.session(Asker(token)) { $0.httpMaximumConnectionsPerHost = connections }
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<connections { group.addTask { try await session.data(from: server.url("/place")).0 } }
            for try await body in group { #expect(body == Data("inside".utf8)) }
        }
        #expect(server.requests.count { $0.path == "/token" } == connections)
    }

    /// What is left of a response when the delegate declines to follow it, and how its connection ends.
    static let rests: [@Sendable (Reply) -> Reply] = [
        { $0 }, { $0.chunked() }, { $0.untilClose() }, { $0.cut(afterBytes: 40_000) },
    ]

    @Test(
        "A response that was received while the delegate was asked is the result, with how it ended",
        arguments: rests.indices,
        [10, 50_000, 1_000_000])
    func declined(rest: Int, size: Int) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: size, seed: 3)
        let url = server.route(
            "/place", Self.rests[rest](Reply.generated(content).status(302).field("Location", "/inside")))
        let witness = Witness(redirect: { _ in nil })
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness)
        #expect(outcome.response?.statusCode == 302)
        if rest == 3, size > 40_000 {
            #expect(outcome.error?.code == .networkConnectionLost)
        } else {
            outcome.expectSuccess(content.data)
        }
    }
}
