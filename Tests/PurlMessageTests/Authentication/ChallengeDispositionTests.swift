import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The delegate's disposition of a challenge", .timeLimit(.minutes(5)))
struct ChallengeDispositionTests {
    private let sandbox = Sandbox()
    static let twoSpaces = [#"Basic realm="hall", Digest realm="vault", nonce="n", qop=auth, Basic realm="yard""#]

    private func load(_ reply: Reply, _ witness: Witness) async throws -> (outcome: Outcome, server: LoopbackServer) {
        let server = try LoopbackServer()
        let url = server.route("/place", reply)
        return (try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness), server)
    }

    @Test("useCredential repeats the request with the credential")
    func use() async throws {
        let (outcome, _) = try await load(ProtectedResource.reply(), ProtectedResource.witness())
        #expect(
            outcome.events == [
                .challenge("Basic", "vault", failures: 0), .response(200), .data(6), .completed(nil), .invalid,
            ])
    }

    @Test(
        "useCredential without a credential that can be sent makes the 401 the result",
        arguments: [nil, "me:and you", "me\n"])
    func useNothing(user: String?) async throws {
        let witness = ProtectedResource.witness(.useCredential, user.map { ProtectedResource.credential($0) })
        let (outcome, server) = try await load(ProtectedResource.reply(), witness)
        #expect(outcome.response?.statusCode == 401)
        #expect(server.requests.count == 1)
    }

    @Test("performDefaultHandling without a known credential makes the 401 the result")
    func performDefault() async throws {
        let (outcome, server) = try await load(
            ProtectedResource.reply(), ProtectedResource.witness(.performDefaultHandling))
        #expect(
            outcome.events == [
                .challenge("Basic", "vault", failures: 0), .response(401), .data(12), .completed(nil), .invalid,
            ])
        #expect(server.requests.count == 1)
    }

    @Test("cancelAuthenticationChallenge cancels the task", arguments: LoadForm.allCases)
    func cancel(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let outcome = try await form.load(URLRequest(url: url), witness: witness)
        outcome.expectFailure(.cancelled, at: url)
        #expect(server.requests.count == 1)
    }

    @Test("rejectProtectionSpace continues with the next protection space, the safest first")
    func reject() async throws {
        let witness = Witness(challenge: { challenge in
            challenge.protectionSpace.realm == "yard"
                ? (.useCredential, ProtectedResource.credential()) : (.rejectProtectionSpace, nil)
        })
        let (outcome, server) = try await load(ProtectedResource.reply(asking: Self.twoSpaces), witness)
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(
            witness.challenges == [
                .challenge("Digest", "vault", failures: 0), .challenge("Basic", "hall", failures: 0),
                .challenge("Basic", "yard", failures: 0),
            ])
        #expect(server.authorizations == [nil, ProtectedResource.basic])
    }

    @Test("Rejecting every protection space makes the 401 the result")
    func rejectAll() async throws {
        let witness = ProtectedResource.witness(.rejectProtectionSpace)
        let (outcome, server) = try await load(ProtectedResource.reply(asking: Self.twoSpaces), witness)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(witness.challenges.count == 3)
        #expect(server.requests.count == 1)
    }

    @Test("A rejected protection space is not offered again for the same request")
    func rejectForGood() async throws {
        let witness = Witness(challenge: { challenge in
            switch (challenge.protectionSpace.realm, challenge.previousFailureCount) {
            case ("vault", _): (.rejectProtectionSpace, nil)
            case (_, 0): (.useCredential, ProtectedResource.credential("me", "wrong"))
            default: (.useCredential, ProtectedResource.credential())
            }
        })
        let (outcome, _) = try await load(ProtectedResource.reply(asking: Self.twoSpaces), witness)
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(
            witness.challenges == [
                .challenge("Digest", "vault", failures: 0), .challenge("Basic", "hall", failures: 0),
                .challenge("Basic", "hall", failures: 1),
            ])
    }

    @Test("A refused credential leads to another challenge with its count, the credential and the response")
    func failures() async throws {
        let seen = LockedValue<[String]>([])
        let witness = Witness(challenge: { challenge in
            let status = (challenge.failureResponse as? HTTPURLResponse)?.statusCode ?? 0
            let proposed = challenge.proposedCredential?.password ?? "none"
            seen.withLock { $0.append("\(challenge.previousFailureCount) \(proposed) \(status)") }
            let words = ["wrong", "worse", "secret"]
            return (.useCredential, ProtectedResource.credential("me", words[challenge.previousFailureCount]))
        })
        let (outcome, _) = try await load(ProtectedResource.reply(), witness)
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(seen.withLock { $0 } == ["0 none 401", "1 wrong 401", "2 worse 401"])
    }

    @Test("The same refused credential is sent twice, then the 401 is the result")
    func repeatedWrongCredential() async throws {
        let witness = ProtectedResource.witness(.useCredential, ProtectedResource.credential("me", "wrong"))
        let (outcome, server) = try await load(ProtectedResource.reply(), witness)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(server.requests.count == 3)
        #expect(
            witness.challenges == [
                .challenge("Basic", "vault", failures: 0), .challenge("Basic", "vault", failures: 1),
                .challenge("Basic", "vault", failures: 2),
            ])
    }

    @Test("The credentials of the URL and the storage are tried first, once, and count as failures")
    func knownFirst() async throws {
        let server = try LoopbackServer()
        server.route("/place", ProtectedResource.reply())
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
            ProtectedResource.credential("you", "old"), for: ProtectedResource.space(of: server))
        storage.set(ProtectedResource.credential("me", "older"), for: ProtectedResource.space(of: server))
        let witness = ProtectedResource.witness()
        let request = URLRequest(url: server.url("/place", as: "me:oldest"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness) {
            $0.urlCredentialStorage = storage
        }
        outcome.expectSuccess(ProtectedResource.inside)
        #expect(witness.challenges == [.challenge("Basic", "vault", failures: 2)])
        #expect(server.authorizations == [nil, "Basic bWU6b2xkZXN0", "Basic bWU6b2xkZXI=", ProtectedResource.basic])
        // The accepted credential becomes the default one.
        #expect(storage.defaultCredential(for: ProtectedResource.space(of: server)) == ProtectedResource.credential())
    }

    @Test("A server that names a new realm in each 401 is not asked for ever")
    func inventedRealms() async throws {
        let server = try LoopbackServer()
        server.route(
            "/place",
            .computed { .text("no").status(401).field("WWW-Authenticate", "Basic realm=\"\($0.number)\"") })
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: ProtectedResource.witness())
        #expect(outcome.response?.statusCode == 401)
        #expect(server.requests.count == 3)
    }

    @Test("A challenge may be answered from any thread, and only the first answer counts")
    func answers() async throws {
        let delegate = ChallengeHandlerDelegate { challenge, handler in
            Thread.detachNewThread {
                handler(.useCredential, ProtectedResource.credential())
                handler(.cancelAuthenticationChallenge, nil)
                challenge.sender?.cancel(challenge)
            }
        }
        let (status, _) = try await delegate.load(ProtectedResource.reply())
        #expect(status == 200)
    }

    /// Each method of the sender, and the status of the result.
    static let senderCalls: [(@Sendable (URLAuthenticationChallenge) -> Void, Int?)] = [
        ({ $0.sender?.use(ProtectedResource.credential(), for: $0) }, 200),
        ({ $0.sender?.continueWithoutCredential(for: $0) }, 401),
        ({ $0.sender?.performDefaultHandling(for: $0) }, 401),
        ({ $0.sender?.rejectProtectionSpaceAndContinue(with: $0) }, 401),
        ({ $0.sender?.cancel($0) }, nil),
    ]

    @Test("A challenge may be answered through its sender", arguments: senderCalls.indices)
    func sender(index: Int) async throws {
        let (call, status) = Self.senderCalls[index]
        let delegate = ChallengeHandlerDelegate { challenge, handler in
            call(challenge)
            handler(.cancelAuthenticationChallenge, nil)
        }
        let result = try await delegate.load(ProtectedResource.reply())
        #expect(result.status == status)
        #expect(result.error == (status == nil ? .cancelled : nil))
    }

    @Test("The session-level delegate method is not called for HTTP authentication")
    func sessionLevel() async throws {
        let delegate = ChallengeHandlerDelegate { _, handler in handler(.performDefaultHandling, nil) }
        #expect(try await delegate.load(ProtectedResource.reply()).status == 401)
        #expect(delegate.sessionChallenges.withLock { $0 } == 0)
    }

    @Test("A challenge goes to the task's own delegate instead of the session's")
    func taskDelegate() async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let witness = ProtectedResource.witness(.cancelAuthenticationChallenge)
        let (body, _) = try await sandbox.session(witness).data(from: url, delegate: ProtectedResource.witness())
        #expect(body == ProtectedResource.inside)
        #expect(witness.challenges == [])
    }

    @Test("A task that is cancelled before the challenge is answered ends with cancelled")
    func cancelMeanwhile() async throws {
        let witness = Witness(
            challenge: { _ in (.useCredential, ProtectedResource.credential()) },
            hook: { task, event in if case .challenge = event { task.cancel() } })
        let (outcome, server) = try await load(ProtectedResource.reply(), witness)
        #expect(outcome.error?.code == .cancelled)
        #expect(server.requests.count == 1)
    }

    @Test("A task that is suspended before the challenge is answered continues when it is resumed")
    func suspendMeanwhile() async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        let witness = Witness(
            challenge: { _ in (.useCredential, ProtectedResource.credential()) },
            hook: { task, event in if case .challenge = event { task.suspend() } })
        let task = sandbox.session(witness).dataTask(with: url).resumed()
        await witness.wait { !$0.isEmpty }
        #expect(task.state == .suspended)
        task.resume()
        await witness.completion()
        #expect(witness.data(of: task) == ProtectedResource.inside)
    }
}

/// A delegate that hands the completion handler of a challenge to the test.
private final class ChallengeHandlerDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    let sessionChallenges = LockedValue(0)
    private let answer: @Sendable (URLAuthenticationChallenge, @escaping Handler) -> Void

    init(_ answer: @escaping @Sendable (URLAuthenticationChallenge, @escaping Handler) -> Void) {
        self.answer = answer
    }

    func load(_ reply: Reply) async throws -> (status: Int?, error: URLError.Code?) {
        let server = try LoopbackServer()
        let url = server.route("/place", reply)
        let sandbox = Sandbox()
        let session = sandbox.session(self)
        defer { session.invalidateAndCancel() }
        do {
            let (_, response) = try await session.data(from: url)
            return ((response as? HTTPURLResponse)?.statusCode, nil)
        } catch let error as URLError {
            return (nil, error.code)
        }
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        sessionChallenges.withLock { $0 += 1 }
        completionHandler(.performDefaultHandling, nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        answer(challenge, completionHandler)
    }
}
