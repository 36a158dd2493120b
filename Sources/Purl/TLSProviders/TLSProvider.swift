import Foundation

/// A TLS library, as a session uses it: makes a ``TLSConnection`` for each connection that is to be secure.
///
/// It is set in ``URLSessionConfiguration/defaultTLSProvider``, for all sessions, or in the
/// ``URLSessionConfiguration/tlsProvider`` of one.
public protocol TLSProvider: Sendable {
    /// Makes the client's side of a connection. Nothing has been sent yet.
    ///
    /// It is called on the threads that compute handshakes, several at a time where there are more than two processors. A call
    /// that waits holds up the handshakes of the whole process, and nothing else.
    func makeConnection(_ request: TLSConnectionRequest) throws -> any TLSConnection
}

/// The connection that a ``TLSConnection`` is for.
public struct TLSConnectionRequest: Sendable, Hashable {
    /// The name or address of the server: for SNI, and to be found in its certificate. An IPv6 address has no brackets.
    public let host: String
    /// The server's port. Together with the host it is the key under which TLS sessions may be resumed.
    public let port: Int
    /// The protocols to offer (ALPN, RFC 7301), the preferred one first.
    public let applicationProtocols: [String]
    /// The lowest version of TLS to offer.
    public let minimumVersion: tls_protocol_version_t
    /// The highest version of TLS to offer.
    public let maximumVersion: tls_protocol_version_t

    public init(
        host: String, port: Int, applicationProtocols: [String] = ["http/1.1"],
        minimumVersion: tls_protocol_version_t = .TLSv12, maximumVersion: tls_protocol_version_t = .TLSv13
    ) {
        self.host = host
        self.port = port
        self.applicationProtocols = applicationProtocols
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
    }
}

/// The client's side of one TLS connection, without a socket: takes what arrives, gives what is to be sent.
///
/// Purl moves the bytes, and makes one call at a time: none begins before the one before it has returned, and each sees what
/// the ones before have written, on whatever thread. ``handshake()`` is called on a thread for handshakes, where its arithmetic
/// and the verification of certificates hold up no transfer; all others are called on the network thread, which all transfers
/// of the process share: they must not block. After an error it is asked once more for what is to be sent, which may be an
/// alert. It may be released on either thread.
public protocol TLSConnection: AnyObject {
    /// Continues the handshake as far as the bytes taken so far allow. Not called again once it has returned
    /// ``TLSHandshakeStep/done(_:)``.
    ///
    /// It is called on a thread for handshakes. One that is cancelled meanwhile returns by itself, and is the last call.
    ///
    /// A certificate that is not trusted is not an error: the delegate decides, and the handshake goes to its end.
    func handshake() throws -> TLSHandshakeStep

    /// Takes bytes of the other side, all of them.
    ///
    /// - Parameter bytes: What has arrived, which are valid during the call.
    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer)

    /// Takes up to the size of `buffer` of the bytes that are to be sent to the other side.
    ///
    /// - Parameter buffer: Where to put them; it is not empty.
    /// - Returns: How many there were; 0 when there are none.
    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Takes content that the other side has sent, up to the size of `buffer`, after the handshake.
    ///
    /// - Parameter buffer: Where to put it; it is not empty.
    /// - Returns: How much content there was, if any.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead

    /// Takes content to be sent, after the handshake.
    ///
    /// - Parameter content: The content, which is not empty, and valid during the call.
    /// - Returns: How many were taken; at least one.
    func write(_ content: UnsafeRawBufferPointer) throws -> Int

    /// Ends this side's stream with a `close_notify` alert, which is then to be sent.
    func finishWriting()
}

/// How far a handshake has come.
public enum TLSHandshakeStep: Sendable, Hashable {
    /// It continues with what the other side sends.
    case waiting
    /// It is done. What the server has to be known by is in the result.
    case done(TLSHandshakeResult)
}

/// What ``TLSConnection/read(into:)`` has found.
public enum TLSRead: Sendable, Hashable {
    /// That many bytes of content.
    case content(Int)
    /// Nothing whole has arrived.
    case waiting
    /// The other side has ended its stream with a `close_notify` alert.
    case end
}

/// What a handshake has agreed upon, and who the server is.
public struct TLSHandshakeResult: Sendable, Hashable {
    /// The version of TLS.
    public var version: tls_protocol_version_t
    /// The cipher suite; `nil` for one that has no name here.
    public var cipherSuite: tls_ciphersuite_t?
    /// The protocol that the server has chosen (ALPN); `nil` where it has chosen none.
    public var applicationProtocol: String?
    /// Whether an earlier session was resumed.
    public var isResumed: Bool
    /// Whether the server is the one that was asked for.
    public var trust: TLSTrust
    /// Whether the server's certificates were verified at all: `false` where the provider's settings overlook what is wrong
    /// with them. Such a server cannot ask for TLS by `Strict-Transport-Security` (RFC 6797 §8.1).
    public var isServerVerified: Bool

    public init(
        version: tls_protocol_version_t, cipherSuite: tls_ciphersuite_t?, applicationProtocol: String? = nil,
        isResumed: Bool = false, trust: TLSTrust, isServerVerified: Bool = true
    ) {
        self.version = version
        self.cipherSuite = cipherSuite
        self.applicationProtocol = applicationProtocol
        self.isResumed = isResumed
        self.trust = trust
        self.isServerVerified = isServerVerified
    }
}

/// What a provider knows about a server: its certificates, and whether they prove who it is.
public struct TLSTrust: Sendable, Hashable {
    /// Why a server is not trusted.
    public enum Problem: Sendable, Hashable, CaseIterable {
        /// The certificate is another host's.
        case wrongHost
        /// The time for which a certificate was made has passed.
        case expired
        /// The time for which a certificate was made has not come.
        case notYetValid
        /// The chain of certificates does not lead to a root that is known.
        case unknownRoot
        /// A certificate was revoked by its issuer.
        case revoked
        /// The certificates are invalid in another way.
        case invalid
    }

    /// The name that the server was asked for.
    public let host: String
    /// The certificates that the server has sent, in DER, its own first.
    public let certificates: [Data]
    /// Why the server is not trusted; `nil` when it is.
    public let problem: Problem?
    /// The provider's sentence about the problem, without a full stop.
    public let reason: String?

    public init(host: String, certificates: [Data], problem: Problem? = nil, reason: String? = nil) {
        self.host = host
        self.certificates = certificates
        self.problem = problem
        self.reason = reason
    }
}

/// An error of a ``TLSConnection``.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of error it is; it decides on the `URLError.Code`. See <doc:TLS>.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// The other side does not speak TLS.
        case notTLS
        /// There is no version of TLS, no cipher suite or no protocol that both sides accept.
        case noAgreement
        /// The server refuses the connection, or ends it in the handshake, for a reason of its own.
        case refused
        /// The server asks for a certificate of the client's, and there is none.
        case certificateRequired
        /// The server refuses the certificate of the client.
        case certificateRejected
        /// The connection was tampered with, or one of the sides is broken.
        case malformed
        /// The program has given the provider something that it cannot use.
        case unusableSettings
        /// The TLS library is not on this machine, or cannot be used there.
        case unavailable
    }

    /// The kind of error.
    public let kind: Kind
    /// The provider's description of it, without a full stop.
    public let reason: String

    public init(_ kind: Kind, reason: String) {
        self.kind = kind
        self.reason = reason
    }

    public var description: String { reason }
}

extension TLSError: LocalizedError {
    /// The reason, as a sentence.
    public var errorDescription: String? { reason.hasSuffix(".") ? reason : reason + "." }
    /// The same.
    public var failureReason: String? { errorDescription }
}
