import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@Suite("The delegate's answer to a challenge", .timeLimit(.minutes(5)))
struct ChallengeDispositionTests {
    static let twoSpaces = [#"Basic realm="hall", Digest realm="vault", nonce="n", qop=auth, Basic realm="yard""#]

    private func load(_ reply: Reply, _ witness: Witness) async throws -> (outcome: Outcome, server: LoopbackServer) {
        let server = try LoopbackServer()
        let url = server.route("/place", reply)
        return (try await LoadForm.dataDelegate.load(URLRequest(url: url), witness: witness), server)
    }

    @Test("A credential: the request goes again")
    func use() async throws {
        let (outcome, _) = try await load(Door.reply(), Door.witness())
        #expect(
            outcome.events == [
                .challenge("Basic", "vault", failures: 0), .response(200), .data(6), .completed(nil), .invalid,
            ])
    }

    @Test("No credential, or one that cannot be sent: the 401 is the result", arguments: [nil, "me:and you", "me\n"])
    func useNothing(user: String?) async throws {
        let witness = Door.witness(.useCredential, user.map { Door.credential($0) })
        let (outcome, server) = try await load(Door.reply(), witness)
        #expect(outcome.response?.statusCode == 401)
        #expect(server.requests.count == 1)
    }

    @Test("Default handling: the 401 is the result")
    func performDefault() async throws {
        let (outcome, server) = try await load(Door.reply(), Door.witness(.performDefaultHandling))
        #expect(
            outcome.events == [
                .challenge("Basic", "vault", failures: 0), .response(401), .data(12), .completed(nil), .invalid,
            ])
        #expect(server.requests.count == 1)
    }

    @Test("Cancel: so is the task", arguments: LoadForm.allCases)
    func cancel(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let witness = Door.witness(.cancelAuthenticationChallenge)
        let outcome = try await form.load(URLRequest(url: url), witness: witness)
        outcome.expectFailure(.cancelled, at: url)
        #expect(server.requests.count == 1)
    }

    @Test("Reject: the next protection space, the safest first")
    func reject() async throws {
        let witness = Witness(challenge: { challenge in
            challenge.protectionSpace.realm == "yard"
                ? (.useCredential, Door.credential()) : (.rejectProtectionSpace, nil)
        })
        let (outcome, server) = try await load(Door.reply(asking: Self.twoSpaces), witness)
        outcome.expectSuccess(Door.inside)
        #expect(
            witness.challenges == [
                .challenge("Digest", "vault", failures: 0), .challenge("Basic", "hall", failures: 0),
                .challenge("Basic", "yard", failures: 0),
            ])
        #expect(server.authorizations == [nil, Door.basic])
    }

    @Test("Reject them all: the 401 is the result")
    func rejectAll() async throws {
        let witness = Door.witness(.rejectProtectionSpace)
        let (outcome, server) = try await load(Door.reply(asking: Self.twoSpaces), witness)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(witness.challenges.count == 3)
        #expect(server.requests.count == 1)
    }

    @Test("What was rejected is not asked about again while the place stays closed")
    func rejectForGood() async throws {
        let witness = Witness(challenge: { challenge in
            switch (challenge.protectionSpace.realm, challenge.previousFailureCount) {
            case ("vault", _): (.rejectProtectionSpace, nil)
            case (_, 0): (.useCredential, Door.credential("me", "wrong"))
            default: (.useCredential, Door.credential())
            }
        })
        let (outcome, _) = try await load(Door.reply(asking: Self.twoSpaces), witness)
        outcome.expectSuccess(Door.inside)
        #expect(
            witness.challenges == [
                .challenge("Digest", "vault", failures: 0), .challenge("Basic", "hall", failures: 0),
                .challenge("Basic", "hall", failures: 1),
            ])
    }

    @Test("A wrong credential is asked about again, with a count, the credential and the response")
    func failures() async throws {
        let seen = LoadBox<[String]>([])
        let witness = Witness(challenge: { challenge in
            let status = (challenge.failureResponse as? HTTPURLResponse)?.statusCode ?? 0
            let proposed = challenge.proposedCredential?.password ?? "none"
            seen.withLock { $0.append("\(challenge.previousFailureCount) \(proposed) \(status)") }
            let words = ["wrong", "worse", "secret"]
            return (.useCredential, Door.credential("me", words[challenge.previousFailureCount]))
        })
        let (outcome, _) = try await load(Door.reply(), witness)
        outcome.expectSuccess(Door.inside)
        #expect(seen.withLock { $0 } == ["0 none 401", "1 wrong 401", "2 worse 401"])
    }

    @Test("The same wrong credential over and over: it is sent twice, then the 401 is the result")
    func stubborn() async throws {
        let witness = Door.witness(.useCredential, Door.credential("me", "wrong"))
        let (outcome, server) = try await load(Door.reply(), witness)
        outcome.expectSuccess(Data("who are you?".utf8))
        #expect(outcome.response?.statusCode == 401)
        #expect(server.requests.count == 3)
        #expect(
            witness.challenges == [
                .challenge("Basic", "vault", failures: 0), .challenge("Basic", "vault", failures: 1),
                .challenge("Basic", "vault", failures: 2),
            ])
    }

    @Test("What the URL and the storage say is tried first, once, and counts")
    func knownFirst() async throws {
        let server = try LoopbackServer()
        server.route("/place", Door.reply())
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(Door.credential("you", "old"), for: Door.space(of: server))
        storage.set(Door.credential("me", "older"), for: Door.space(of: server))
        let witness = Door.witness()
        let request = URLRequest(url: server.url("/place", as: "me:oldest"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: witness) {
            $0.urlCredentialStorage = storage
        }
        outcome.expectSuccess(Door.inside)
        #expect(witness.challenges == [.challenge("Basic", "vault", failures: 2)])
        #expect(server.authorizations == [nil, "Basic bWU6b2xkZXN0", "Basic bWU6b2xkZXI=", Door.basic])
        // What was let in is the user's from now on.
        #expect(storage.defaultCredential(for: Door.space(of: server)) == Door.credential())
    }

    @Test("A server that finds a new name for itself each time comes to an end as well")
    func inventedRealms() async throws {
        let server = try LoopbackServer()
        server.route(
            "/place",
            .computed { .text("no").status(401).field("WWW-Authenticate", "Basic realm=\"\($0.number)\"") })
        let request = URLRequest(url: server.url("/place", as: "me:secret"))
        let outcome = try await LoadForm.dataDelegate.load(request, witness: Door.witness())
        #expect(outcome.response?.statusCode == 401)
        #expect(server.requests.count == 3)
    }

    @Test("The answer may come from any thread; the first one counts")
    func answers() async throws {
        let delegate = ChattyDelegate { challenge, handler in
            Thread.detachNewThread {
                handler(.useCredential, Door.credential())
                handler(.cancelAuthenticationChallenge, nil)
                challenge.sender?.cancel(challenge)
            }
        }
        let (status, _) = try await delegate.load(Door.reply())
        #expect(status == 200)
    }

    /// What each method of the sender comes to.
    static let senderCalls: [(@Sendable (URLAuthenticationChallenge) -> Void, Int?)] = [
        ({ $0.sender?.use(Door.credential(), for: $0) }, 200),
        ({ $0.sender?.continueWithoutCredential(for: $0) }, 401),
        ({ $0.sender?.performDefaultHandling(for: $0) }, 401),
        ({ $0.sender?.rejectProtectionSpaceAndContinue(with: $0) }, 401),
        ({ $0.sender?.cancel($0) }, nil),
    ]

    @Test("The challenge's sender takes the answer too", arguments: senderCalls.indices)
    func sender(index: Int) async throws {
        let (call, status) = Self.senderCalls[index]
        let delegate = ChattyDelegate { challenge, handler in
            call(challenge)
            handler(.cancelAuthenticationChallenge, nil)
        }
        let result = try await delegate.load(Door.reply())
        #expect(result.status == status)
        #expect(result.error == (status == nil ? .cancelled : nil))
    }

    @Test("The session's method is not asked about passwords")
    func sessionLevel() async throws {
        let delegate = ChattyDelegate { _, handler in handler(.performDefaultHandling, nil) }
        #expect(try await delegate.load(Door.reply()).status == 401)
        #expect(delegate.sessionChallenges.withLock { $0 } == 0)
    }

    @Test("A task's own delegate is asked in place of the session's")
    func taskDelegate() async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let sandbox = try Sandbox()
        let witness = Door.witness(.cancelAuthenticationChallenge)
        let session = sandbox.session(witness)
        let (body, _) = try await session.data(from: url, delegate: Door.witness())
        #expect(body == Door.inside)
        #expect(witness.challenges == [])
        session.invalidateAndCancel()
    }

    @Test("A task that is cancelled while the delegate thinks is over")
    func cancelMeanwhile() async throws {
        let witness = Witness(
            challenge: { _ in (.useCredential, Door.credential()) },
            hook: { task, event in if case .challenge = event { task.cancel() } })
        let (outcome, server) = try await load(Door.reply(), witness)
        #expect(outcome.error?.code == .cancelled)
        #expect(server.requests.count == 1)
    }

    @Test("A task that is suspended while the delegate thinks goes on when it is resumed")
    func suspendMeanwhile() async throws {
        let server = try LoopbackServer()
        let url = server.route("/place", Door.reply())
        let sandbox = try Sandbox()
        let witness = Witness(
            challenge: { _ in (.useCredential, Door.credential()) },
            hook: { task, event in if case .challenge = event { task.suspend() } })
        let session = sandbox.session(witness)
        let task = session.dataTask(with: url)
        task.resume()
        await witness.wait { !$0.isEmpty }
        #expect(task.state == .suspended)
        task.resume()
        await witness.completion()
        #expect(witness.data(of: task) == Door.inside)
        session.invalidateAndCancel()
    }
}

/// A delegate that gets the completion handler itself.
private final class ChattyDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    let sessionChallenges = LoadBox(0)
    private let answer: @Sendable (URLAuthenticationChallenge, @escaping Handler) -> Void

    init(_ answer: @escaping @Sendable (URLAuthenticationChallenge, @escaping Handler) -> Void) {
        self.answer = answer
    }

    func load(_ reply: Reply) async throws -> (status: Int?, error: URLError.Code?) {
        let server = try LoopbackServer()
        let url = server.route("/place", reply)
        let sandbox = try Sandbox()
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
