/// How a ``LoopbackServer`` speaks TLS: with which certificate, in which versions, and what goes wrong in the handshake.
///
/// ```swift
/// var tls = ServerTLS(authority, .valid)
/// tls.maximumVersion = .tls12
/// tls.clientCertificate = .required
/// let server = try LoopbackServer(tls: tls.fault(.cut, at: .afterFirstFlight, times: 1))
/// ```
public struct ServerTLS: Sendable {
    /// A version of the protocol.
    public enum Version: UInt16, Sendable, Hashable, Comparable, CaseIterable {
        case tls10 = 0x0301
        case tls11
        case tls12
        case tls13

        public static func < (left: Version, right: Version) -> Bool { left.rawValue < right.rawValue }
    }

    /// Whether clients have to say who they are.
    public enum ClientCertificate: Sendable, Hashable {
        /// The server does not ask.
        case notRequested
        /// The server asks, and continues without.
        case requested
        /// The server asks, and refuses clients without a certificate that its authority has issued.
        case required
    }

    /// What the server answers to a client that offers protocols (ALPN, RFC 7301).
    public enum ApplicationProtocol: Sendable, Hashable {
        /// The first of these that the client offers; without any, the handshake ends with an alert.
        case firstOffered(of: [String])
        /// This one, offered or not.
        case always(String)
        /// Nothing.
        case none
    }

    /// Who issues the server's certificates, and those of clients that it accepts.
    public var authority: TestAuthority
    /// The server's certificate.
    public var certificate: TestCertificate
    /// The lowest version that the server accepts.
    public var minimumVersion = Version.tls12
    /// The highest version that the server accepts.
    public var maximumVersion = Version.tls13
    /// Whether clients have to say who they are.
    public var clientCertificate = ClientCertificate.notRequested
    /// The protocol above TLS.
    public var applicationProtocol = ApplicationProtocol.firstOffered(of: ["http/1.1"])
    /// Whether clients may resume a session in place of a whole handshake (RFC 8446 §2.2).
    public var resumesSessions = true

    private(set) var faults: [Limited<PlannedHandshakeFault>] = []

    /// - Parameters:
    ///   - authority: Who issues the server's certificates.
    ///   - certificate: The server's certificate.
    public init(_ authority: TestAuthority, _ certificate: TestCertificate = .valid) {
        self.authority = authority
        self.certificate = certificate
    }
}

// MARK: - Faults in the handshake

extension ServerTLS {
    /// What goes wrong in a handshake when it reaches a ``HandshakePhase``.
    public enum HandshakeFault: Sendable, Equatable {
        /// Nothing more is sent until the gate opens; without one, ever.
        case stall(until: ServerGate?)
        /// The server ends the stream.
        case cut
        /// The connection is reset.
        case reset
        /// The server ends the handshake with an alert, which is not encrypted, and then the stream.
        case alert(TLSAlert)
        /// The server sends something else than TLS, and then ends the stream.
        case plainText(String)
        /// The next record, which is the first one if none was sent, announces this length in place of its own.
        case wrongLength(UInt16)
        /// One bit of this byte of what the server sends in the handshake is wrong, counted from 0 and from the phase on.
        case flippedBit(at: Int)
    }

    /// Where in a handshake something goes wrong.
    public enum HandshakePhase: Sendable, Hashable, CaseIterable {
        /// The client's first message is complete, and the server has sent nothing.
        case beforeFirstFlight
        /// Half of what the server answers is sent.
        case midFirstFlight
        /// The server has sent all that it sends before the client's next message: in TLS 1.3 its whole part of the
        /// handshake.
        case afterFirstFlight
    }

    /// Lets something go wrong when a handshake reaches a phase. Of several faults of one phase the last one counts.
    ///
    /// - Parameters:
    ///   - fault: What goes wrong.
    ///   - phase: Where in the handshake.
    ///   - times: For how many connections.
    public func fault(_ fault: HandshakeFault, at phase: HandshakePhase, times: Int = .max) -> ServerTLS {
        var settings = self
        settings.faults.append(Limited(value: PlannedHandshakeFault(phase: phase, fault: fault), times: times))
        return settings
    }
}

/// A fault in a handshake, and where it happens.
struct PlannedHandshakeFault: Sendable {
    let phase: ServerTLS.HandshakePhase
    let fault: ServerTLS.HandshakeFault
}

/// An alert of TLS (RFC 8446 §6).
public struct TLSAlert: Sendable, Hashable, RawRepresentable {
    /// The alert's number.
    public var rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let handshakeFailure = TLSAlert(rawValue: 40)
    public static let accessDenied = TLSAlert(rawValue: 49)
    public static let protocolVersion = TLSAlert(rawValue: 70)
    public static let insufficientSecurity = TLSAlert(rawValue: 71)
    public static let internalError = TLSAlert(rawValue: 80)
    public static let unrecognizedName = TLSAlert(rawValue: 112)
    public static let certificateRequired = TLSAlert(rawValue: 116)
    public static let noApplicationProtocol = TLSAlert(rawValue: 120)
}

// MARK: - What the server saw

/// A handshake that a server has finished.
public struct ReceivedHandshake: Sendable, Hashable, CustomStringConvertible {
    /// The number of its connection, counted from 1.
    public let connection: Int
    /// The version: `TLSv1.3`.
    public let version: String
    /// The cipher suite in OpenSSL's name: `TLS_AES_256_GCM_SHA384`.
    public let cipherSuite: String
    /// The name that the client has asked for (SNI, RFC 6066 §3); `nil` where it has asked for none, as for an address.
    public let serverName: String?
    /// The protocol that was agreed upon (ALPN); `nil` for none.
    public let applicationProtocol: String?
    /// The Common Name in the client's certificate; `nil` where there is no certificate.
    public let clientName: String?
    /// Whether an earlier session was resumed.
    public let isResumed: Bool

    /// The handshake in words.
    public var description: String {
        var parts = ["\(version), \(cipherSuite)"]
        if let serverName { parts.append("for \(serverName)") }
        if let applicationProtocol { parts.append(applicationProtocol) }
        if let clientName { parts.append("client \(clientName)") }
        if isResumed { parts.append("resumed") }
        return parts.joined(separator: ", ")
    }
}
