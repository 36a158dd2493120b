import Faults
import Foundation
import Purl
import PurlSimulation
import PurlTLS
import PurlTesting
import Synchronization
import Testing

@testable import PurlIO
@testable import SessionFixtures

/// What makes connections secure.
enum SecureLayer: String, Sendable, CaseIterable, CustomTestStringConvertible {
    /// The feigned layer, in a gate before the server.
    case feigned
    /// The system's OpenSSL, on the side of the server and on that of the session.
    case openSSL = "OpenSSL"

    var testDescription: String { rawValue }

    /// Those that this machine has.
    static let available: [SecureLayer] = TestAuthority.isAvailable ? allCases : [.feigned]

    /// Who issues the certificates of real servers.
    static let authority = TestAuthority()
}

/// A server behind a gate, and what a session needs to reach it.
struct SecureStage {
    let server: LoopbackServer
    let gate: FakeGate
    let provider: FakeProvider
    let sandbox: Sandbox
    /// The port for secure connections.
    let port: UInt16
    let tlsProvider: any TLSProvider
    private let layer: SecureLayer

    init(
        _ gate: (inout FakeGate.Script) -> Void = { _ in }, provider: FakeProvider = FakeProvider(),
        stream: StreamScript? = nil
    ) async throws {
        server = try await LoopbackServer.started(stream: stream)
        self.gate = try await FakeGate.started(before: server.port, gate)
        self.provider = provider
        sandbox = Sandbox()
        (layer, port, tlsProvider) = (.feigned, self.gate.port, provider)
    }

    /// A server over a layer that is as it should be, but for what is wrong with the server's certificate.
    init(over layer: SecureLayer, problem: TLSTrust.Problem? = nil, stream: StreamScript? = nil) async throws {
        server = try await LoopbackServer.started(stream: stream)
        gate = try await FakeGate.started(before: server.port)
        provider = FakeProvider { $0.problem = { _ in problem } }
        sandbox = Sandbox()
        self.layer = layer
        switch layer {
        case .feigned:
            (port, tlsProvider) = (gate.port, provider)
        case .openSSL:
            let certificate = problem.map { TestCertificate($0) } ?? .valid
            let root = try server.listen(tls: ServerTLS(SecureLayer.authority, certificate))
            port = UInt16(root.port ?? 0)
            tlsProvider = SystemTLS(trusting: try SecureLayer.authority.rootDER)
        }
    }

    /// The servers that were asked for in handshakes, an address by itself.
    var hosts: [String] {
        switch layer {
        case .feigned: gate.seen.hellos
        case .openSSL: server.handshakes.map { $0.serverName ?? "127.0.0.1" }
        }
    }

    func session(
        _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(delegate) {
            $0.tlsProvider = tlsProvider
            change($0)
        }
    }

    /// Returns when no secure connection is open.
    func waitUntilClosed() async {
        switch layer {
        case .feigned: await gate.wait { $0.open == 0 }
        case .openSSL: await server.waitUntilDisconnected()
        }
    }

    /// The URL of a path, over a secure connection.
    func url(_ path: String, scheme: String = "https") -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(port)\(path)") ?? server.url(path)
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

    /// Sets the reply to a path; the URL is secure.
    func route(_ path: String, _ reply: Reply) -> URL {
        server.route(path, reply)
        return url(path)
    }
}

extension TestCertificate {
    /// One with which a client has this problem.
    fileprivate init(_ problem: TLSTrust.Problem) {
        self =
            switch problem {
            case .wrongHost: .otherHost
            case .expired: .expired
            case .notYetValid: .notYetValid
            case .unknownRoot: .unknownRoot
            case .revoked: .revoked
            case .invalid: .clientOnly
            }
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
