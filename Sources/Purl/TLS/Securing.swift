import Foundation
internal import PurlConnections
internal import PurlIO

/// The TLS settings of a session that has a provider.
final class TLSSettings: Sendable {
    let provider: any TLSProvider
    let minimumVersion: tls_protocol_version_t
    let maximumVersion: tls_protocol_version_t

    init(
        provider: any TLSProvider, minimumVersion: tls_protocol_version_t, maximumVersion: tls_protocol_version_t
    ) {
        self.provider = provider
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
    }

    fileprivate func makeConnection(_ server: SecureServer) throws -> any TLSConnection {
        try provider.makeConnection(
            TLSConnectionRequest(
                host: server.name, port: server.port, applicationProtocols: server.applicationProtocols,
                minimumVersion: minimumVersion, maximumVersion: maximumVersion))
    }
}

/// The delegates of a task, as far as they are asked whether a server is trusted.
@NetworkActor
protocol TrustDelegates: AnyObject {
    /// Records handshakes, if anything does.
    var trace: TaskTrace? { get }

    /// Whether there is a delegate to ask.
    var canAskAboutTrust: Bool { get }

    /// The delegate that accepts servers for the task alone.
    var delegateOfTask: (any AnyObject & Sendable)? { get }

    /// Asks about the server of a protection space.
    func askAboutTrust(
        _ space: URLProtectionSpace, answer: @escaping @Sendable @NetworkActor (TrustAnswer) -> Void)
}

/// Makes the connections of one task secure, and asks its delegates about their servers.
struct TaskSecurer: ConnectionSecurer {
    let settings: TLSSettings
    let calls: any TrustDelegates

    func secure(
        _ transport: any LoopTransport, received bytes: [UInt8], to origin: Origin,
        completion: @escaping ConnectionSecurer.Completion
    ) -> any PendingSecurity {
        Securing(transport, received: bytes, to: SecureServer(origin), with: settings, asking: calls) { result in
            completion(result.map { $0 as any SecurityLayer }.mapError { $0 as any Error })
        }
    }
}

extension HTTPConnection {
    /// What is known of the server of a secure connection; `nil` for any other.
    var security: ConnectionSecurity? { securityLayer as? ConnectionSecurity }
}

/// The server that a secure connection is made to.
struct SecureServer: Sendable {
    /// The host as its certificate has it: without the dot that may end a full name, or the scope of an address, which
    /// means something to this machine alone.
    let name: String
    let port: Int
    /// What is spoken with it; empty for a stream, of which only the program knows.
    let applicationProtocols: [String]

    private init(_ endpoint: Endpoint, _ applicationProtocols: [String]) {
        switch endpoint {
        case .host(let host, let port):
            // Only an IPv6 address has a scope.
            var name = host.contains(":") ? host.prefix { $0 != "%" } : host[...]
            if name.hasSuffix("."), name.count > 1 { name.removeLast() }
            self.name = String(name)
            self.port = Int(port)
        case .unix:
            name = "localhost"
            port = 0
        }
        self.applicationProtocols = applicationProtocols
    }

    /// A server of HTTP or of WebSockets.
    init(_ origin: Origin) { self.init(origin.endpoint, ["http/1.1"]) }

    /// A stream's server.
    init(streamTo endpoint: Endpoint) { self.init(endpoint, []) }

    /// The protection space that its certificates are asked about.
    fileprivate func space(_ trust: TLSTrust) -> URLProtectionSpace {
        URLProtectionSpace(
            host: name, port: port, protocol: applicationProtocols.isEmpty ? nil : NSURLProtectionSpaceHTTPS, trust)
    }
}

/// What a session knows of a secure connection: what its handshake has agreed upon, and which delegates have accepted
/// its server.
///
/// A connection is shared by the tasks of a session, but not its server's acceptance by a task's own delegate: another
/// task's is asked before the connection carries that task's request.
@NetworkActor
final class ConnectionSecurity: SecurityLayer {
    private struct Approval {
        weak var delegate: AnyObject?
    }

    let result: TLSHandshakeResult
    var transport: any LoopTransport { secure }
    var fault: SecurityFault? { secure.fault }
    private let secure: SecureTransport
    let start: MonotonicTime
    let end: MonotonicTime
    fileprivate let server: SecureServer
    private var isApprovedBySession = false
    private var approvals: [Approval] = []

    fileprivate init(
        _ result: TLSHandshakeResult, over transport: SecureTransport, to server: SecureServer,
        since start: MonotonicTime
    ) {
        self.result = result
        secure = transport
        self.server = server
        self.start = start
        end = EventLoop.shared.now
    }

    /// The provider found no problem, so that no delegate had to accept one.
    var isTrusted: Bool { result.trust.problem == nil }

    /// Whether the connection may carry a task's request without a question.
    func isApproved(for delegates: some TrustDelegates) -> Bool {
        if isApprovedBySession { return true }
        guard let delegate = delegates.delegateOfTask else { return isTrusted }
        return approvals.contains { $0.delegate === delegate }
    }

    fileprivate func approve(_ judge: TrustAnswer.Judge) {
        switch judge {
        case .provider: break
        case .session: isApprovedBySession = true
        case .task(let delegate):
            approvals.removeAll { $0.delegate == nil }
            approvals.append(Approval(delegate: delegate))
        }
    }
}

/// A transport becomes secure: first the handshake, then the question whether the server is trusted.
///
/// Or the question alone, where a connection that is secure already is to carry the request of another task.
@NetworkActor
final class Securing: PendingSecurity {
    typealias Completion = @NetworkActor (Result<ConnectionSecurity, TLSFailure>) -> Void

    private enum Stage {
        case handshake(SecureHandshake<TLSHandshakeResult>)
        case asking((any LoopTransport)?)
        case over
    }

    private var stage = Stage.over
    private let calls: any TrustDelegates

    /// Secures a transport. `completion` is called once, and never after `cancel`; when it fails, the transport is closed.
    ///
    /// - Parameter bytes: What has arrived over the transport already.
    init(
        _ transport: any LoopTransport, received bytes: [UInt8] = [], to server: SecureServer,
        with settings: TLSSettings, asking calls: any TrustDelegates, completion: @escaping Completion
    ) {
        self.calls = calls
        let start = EventLoop.shared.now
        calls.trace?.handshake(with: server.name)
        let completion: Completion = { [trace = calls.trace] result in
            trace?.handshakeEnded(result.map(\.result))
            completion(result)
        }
        let makeSide: @Sendable () throws -> any SecurityConnection<TLSHandshakeResult> = {
            TLSRecords(try settings.makeConnection(server))
        }
        let handshake = SecureHandshake(over: transport, received: bytes, makeSide) { [weak self] result in
            switch result {
            case .failure(let failure):
                self?.stage = .over
                completion(.failure(TLSFailure(failure)))
            case .success((let transport, let result)):
                self?.judge(ConnectionSecurity(result, over: transport, to: server, since: start), completion)
            }
        }
        stage = .handshake(handshake)
    }

    /// Asks about a connection that is secure. `completion` is called once, and never after `cancel`; the connection stays
    /// as it is.
    init(
        asking calls: any TrustDelegates, about security: ConnectionSecurity,
        completion: @escaping @NetworkActor (TLSFailure?) -> Void
    ) {
        self.calls = calls
        stage = .asking(nil)
        ask(about: security, completion)
    }

    /// The delegate has been asked: the server is not expected to send anything.
    var isAsking: Bool {
        if case .asking = stage { return true }
        return false
    }

    /// Closes the transport, if it was to be made secure, and drops the completion. Has no effect when it is over.
    func cancel() {
        let old = stage
        stage = .over
        switch old {
        case .handshake(let handshake): handshake.cancel()
        case .asking(let transport): transport?.close()
        case .over: break
        }
    }

    private func judge(_ security: ConnectionSecurity, _ completion: @escaping Completion) {
        if let name = security.result.applicationProtocol, !security.server.applicationProtocols.contains(name) {
            stage = .over
            security.transport.close()
            return completion(.failure(.unaskedProtocol(name)))
        }
        stage = .asking(security.transport)
        ask(about: security) { failure in
            guard let failure else { return completion(.success(security)) }
            security.transport.close()
            completion(.failure(failure))
        }
    }

    private func ask(
        about security: ConnectionSecurity, _ completion: @escaping @NetworkActor (TLSFailure?) -> Void
    ) {
        let trust = security.result.trust
        let answer: @Sendable @NetworkActor (TrustAnswer) -> Void = { [weak self] answer in
            guard let self, self.isAsking else { return }
            self.stage = .over
            let failure = answer.failure(for: trust)
            if failure == nil { security.approve(answer.judge) }
            completion(failure)
        }
        guard calls.canAskAboutTrust else { return answer(.default) }
        calls.askAboutTrust(security.server.space(trust), answer: answer)
    }
}

/// The answer to the question whether a server is trusted.
struct TrustAnswer: Sendable {
    /// What has given it.
    enum Judge: Sendable {
        /// There is no delegate: the provider's verdict counts.
        case provider
        /// The session's delegate, with the method about the session.
        case session
        /// The delegate with the method about the task.
        case task(any AnyObject & Sendable)
    }

    enum Verdict: Sendable {
        /// The server with these certificates is trusted; without any, the provider's verdict counts.
        case accept(TLSTrust?)
        /// The provider's verdict counts.
        case leaveToProvider
        case cancel
        case reject
    }

    static let `default` = TrustAnswer(judge: .provider, .leaveToProvider)

    let judge: Judge
    private let verdict: Verdict

    init(judge: Judge, _ verdict: Verdict) {
        self.judge = judge
        self.verdict = verdict
    }

    /// Why the server is not talked to; `nil` when it is.
    func failure(for trust: TLSTrust) -> TLSFailure? {
        switch verdict {
        case .accept(let accepted) where accepted == trust: nil
        case .accept, .leaveToProvider: trust.problem == nil ? nil : .untrusted(trust)
        case .cancel: .questionCancelled
        case .reject: .rejected(trust)
        }
    }
}
