import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Redirects and challenges of a URLProtocol", .timeLimit(.minutes(5)))
struct ProtocolClientTests {
    private let sandbox = Sandbox()

    private static func redirect(_ stub: Stub, to url: URL, _ change: (inout URLRequest) -> Void = { _ in }) {
        guard let from = stub.request.url,
            let response = HTTPURLResponse(
                url: from, statusCode: 302, httpVersion: nil, headerFields: ["Location": url.absoluteString])
        else { return }
        var request = URLRequest(url: url)
        change(&request)
        stub.client?.urlProtocol(stub, wasRedirectedTo: request, redirectResponse: response)
    }

    @Test("Of its request's credentials a protocol's redirect takes none to another origin, only its own")
    func credentials() async throws {
        let server = try LoopbackServer()
        let end = server.route("/end", .text("end"))
        let own = try Stub.url("/own") { stub in
            Self.redirect(stub, to: end) { $0.setValue("Bearer own", forHTTPHeaderField: "Authorization") }
        }
        let copying = try Stub.url("/copying") { stub in
            Self.redirect(stub, to: end) { request in
                request = stub.request
                request.url = end
            }
        }
        for start in [own, copying] {
            var request = URLRequest(url: start)
            request.setValue("visitor=one", forHTTPHeaderField: "Cookie")
            request.setValue("kept", forHTTPHeaderField: "X-Other")
            try await LoadForm.dataAsync.load(request) {
                $0.stub()
                $0.httpAdditionalHeaders = ["Authorization": "Bearer session"]
            }.expectSuccess(Data("end".utf8))
        }
        #expect(server.requests.map { $0.fields["Authorization"] } == ["Bearer own", nil])
        #expect(server.requests.map { $0.fields["Cookie"] } == [nil, nil])
        #expect(server.requests.map { $0.fields["X-Other"] } == [nil, "kept"])
    }

    @Test("The new request of a redirect is loaded by the class that accepts it", arguments: LoadForm.allCases)
    func redirects(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let end = server.route("/end", .text("end"))
        let middle = try Stub.url("/middle") { Self.redirect($0, to: end) }
        let start = try Stub.url("/start") { Self.redirect($0, to: middle) }
        let witness = Witness()
        let outcome = try await form.load(URLRequest(url: start), witness: witness) { $0.stub() }
        outcome.expectSuccess(Data("end".utf8))
        #expect(outcome.response?.url == end)
        #expect(Array(witness.events.prefix(2)) == [.redirect(302, to: "/middle"), .redirect(302, to: "/end")])
        for url in [start, middle] { await Stub.wait(for: 2, url) }
        #expect(Stub.calls(start) == ["start", "stop"])
    }

    @Test("A protocol's redirect that the delegate refuses is the result", arguments: LoadForm.allCases)
    func notFollowed(form: LoadForm) async throws {
        let other = try Stub.url("other")
        let start = try Stub.url { Self.redirect($0, to: other) }
        let outcome = try await form.load(URLRequest(url: start), witness: Witness(redirect: { _ in nil })) {
            $0.stub()
        }
        outcome.expectSuccess(Data())
        #expect(outcome.response?.statusCode == 302)
        #expect(Stub.calls(other) == [])
    }

    @Test("A failure after the redirect is ignored")
    func failingAfterwards() async throws {
        let end = try Stub.url("end")
        let start = try Stub.url { stub in
            Self.redirect(stub, to: end)
            stub.fail(CocoaError(.userCancelled))
        }
        try await LoadForm.dataAsync.load(start) { $0.stub() }.expectSuccess(Data("end".utf8))
    }

    @Test("Too many redirects fail with httpTooManyRedirects")
    func tooMany() async throws {
        let url = try Stub.url { stub in
            if let url = stub.request.url { Self.redirect(stub, to: url) }
        }
        try await LoadForm.dataDelegate.load(url) { $0.stub() }.expectFailure(.httpTooManyRedirects, at: url)
    }

    // MARK: Challenges

    /// A sender that answers with the name of the call it received.
    final class Sender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
        private let stub: Stub
        init(_ stub: Stub) { self.stub = stub }

        private func send(_ text: String) {
            stub.send(text)
            stub.finish()
        }

        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
            send("\(credential.user ?? ""):\(credential.password ?? "")")
        }
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { send("no credential") }
        func cancel(_ challenge: URLAuthenticationChallenge) { send("cancelled") }
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) { send("default") }
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { send("rejected") }
    }

    private static func challenging() throws -> URL {
        try Stub.url { stub in
            let space = URLProtectionSpace(
                host: "host", port: 80, protocol: "http", realm: "own",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: 2, failureResponse: nil,
                error: nil, sender: Sender(stub))
            stub.client?.urlProtocol(stub, didReceive: challenge)
        }
    }

    @Test(
        "The delegate's disposition reaches the challenge's sender",
        arguments: [
            (URLSession.AuthChallengeDisposition.useCredential, true, "me:secret"),
            (.useCredential, false, "no credential"), (.performDefaultHandling, false, "default"),
            (.rejectProtectionSpace, false, "rejected"),
        ])
    func answers(disposition: URLSession.AuthChallengeDisposition, hasCredential: Bool, reply: String) async throws {
        let witness = ProtectedResource.witness(disposition, hasCredential ? ProtectedResource.credential() : nil)
        let outcome = try await LoadForm.dataDelegate.load(
            URLRequest(url: try Self.challenging()), witness: witness
        ) { $0.stub() }
        outcome.expectSuccess(Data(reply.utf8))
        #expect(witness.challenges == [.challenge("Basic", "own", failures: 2)])
    }

    @Test("cancelAuthenticationChallenge for a protocol's challenge cancels the task")
    func cancelling() async throws {
        let url = try Self.challenging()
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let outcome = try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness) { $0.stub() }
        outcome.expectFailure(.cancelled, at: url)
    }

    @Test("Without a delegate the challenge's sender is called with the default handling")
    func noDelegate() async throws {
        let session = sandbox.session { $0.stub() }
        let data = try await session.data(from: try Self.challenging()).0
        #expect(data == Data("default".utf8))
    }
}
