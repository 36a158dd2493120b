import Faults
import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import PurlIO

/// A server behind a gate, and what a session needs to reach it.
struct SecureStage {
    let server: LoopbackServer
    let gate: FakeGate
    let provider: FakeProvider
    let sandbox: Sandbox

    init(
        _ gate: (inout FakeGate.Script) -> Void = { _ in }, provider: FakeProvider = FakeProvider(),
        stream: StreamScript? = nil
    ) async throws {
        server = try await LoopbackServer.started(stream: stream)
        self.gate = try await FakeGate.started(before: server.port, gate)
        self.provider = provider
        sandbox = Sandbox()
    }

    func session(
        _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(delegate) {
            $0.tlsProvider = provider
            change($0)
        }
    }

    /// Cancels a task in its handshake, which the gate stalls: the connection has to be closed.
    func expectCancelling(_ url: URL, in session: URLSession, _ witness: Witness) async {
        let task = session.dataTask(with: url).resumed()
        await gate.wait { !$0.hellos.isEmpty }
        task.cancel()
        await witness.completion()
        #expect(witness.error(of: task)?.code == .cancelled)
        await gate.wait { $0.open == 0 }
        session.finishTasksAndInvalidate()
    }

    /// Sets the reply to a path; the URL goes through the gate.
    func route(_ path: String, _ reply: Reply) -> URL {
        server.route(path, reply)
        return gate.url(path)
    }
}

/// What a delegate answers when it is asked whether a server is trusted, and what it was asked.
final class TrustAnswers: Sendable {
    typealias Answer = @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    private let answer: Answer
    private let asked = LockedValue<[String]>([])

    init(_ answer: @escaping Answer) { self.answer = answer }

    /// Which methods were called, and for which host.
    var calls: [String] { asked.withLock { $0 } }

    fileprivate func take(
        _ call: String, _ challenge: URLAuthenticationChallenge,
        _ completionHandler: (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        asked.withLock { $0.append(call) }
        let (disposition, credential) = answer(challenge)
        completionHandler(disposition, credential)
    }

    static let accept: Answer = { challenge in
        guard let trust = challenge.protectionSpace.serverTrust else { return (.performDefaultHandling, nil) }
        return (.useCredential, URLCredential(trust: trust))
    }

    static func disposition(_ disposition: URLSession.AuthChallengeDisposition) -> Answer {
        { _ in (disposition, nil) }
    }
}

/// Has the method about the session.
final class SessionTrustDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    let answers: TrustAnswers

    init(_ answer: @escaping TrustAnswers.Answer = TrustAnswers.accept) { answers = TrustAnswers(answer) }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        answers.take("session", challenge, completionHandler)
    }
}

/// Has the method about a task.
final class TaskTrustDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    let answers: TrustAnswers

    init(_ answer: @escaping TrustAnswers.Answer = TrustAnswers.accept) { answers = TrustAnswers(answer) }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        answers.take("task", challenge, completionHandler)
    }
}

/// Has both methods.
final class TwofoldTrustDelegate: NSObject, URLSessionTaskDelegate, Sendable {
    let answers: TrustAnswers

    init(_ answer: @escaping TrustAnswers.Answer = TrustAnswers.accept) { answers = TrustAnswers(answer) }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        answers.take("session", challenge, completionHandler)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        answers.take("task", challenge, completionHandler)
    }
}
