public import Foundation
internal import PurlOpenSSL
import Synchronization

/// An authority that issues certificates for tests, right ones and wrong ones, within the process: no file, no network, no
/// other program.
///
/// ```swift
/// let authority = TestAuthority()
/// let server = try LoopbackServer(tls: authority)
/// // A client that trusts `authority.rootPEM` trusts this server, and no other client does.
/// ```
///
/// Its root is made when it is needed for the first time, and lasts as long as the authority. Any number of servers can
/// share one, from any thread. It uses the system's OpenSSL 3, which is loaded then; where there is none, that fails, and
/// ``isAvailable`` is `false`.
public final class TestAuthority: Sendable {
    /// Why an authority cannot issue something.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// What failed, in words.
        public let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    private struct State: Sendable {
        var root: CertificateIssuer?
        var unknownRoot: CertificateIssuer?
        var intermediate: CertificateIssuer?
        var commoner: CertificateIssuer?
        /// Making a key of RSA takes time, and tests are in a hurry.
        var keys: [TestCertificate.Key: PrivateKey] = [:]
        var issued: [TestCertificate: TestIdentity] = [:]
        private var lastSerial: UInt64 = 0

        mutating func nextSerial() -> UInt64 {
            lastSerial += 1
            return lastSerial
        }
    }

    /// So many certificates are kept to be used again.
    private static let limit = 1000
    private static let day: TimeInterval = 86_400

    private let state = Mutex(State())

    /// An authority with a root of its own.
    public init() {}

    /// Whether this machine has the library that authorities need: for `.enabled(if: TestAuthority.isAvailable)`.
    public static var isAvailable: Bool { (try? OpenSSLFunctions.shared()) != nil }

    /// The root's certificate in DER: what a client is to trust.
    public var rootDER: Data {
        get throws(Failure) {
            let openSSL = try Self.openSSL()
            return try state.withLock { state throws(Failure) in Data(try Self.root(&state, openSSL).certificate) }
        }
    }

    /// The root's certificate in PEM.
    public var rootPEM: String {
        get throws(Failure) { PEM.text("CERTIFICATE", try rootDER) }
    }

    /// Writes the root's certificate to a file, in PEM, for clients that take one: `curl --cacert FILE`.
    ///
    /// - Parameter file: Where to write it. A file that is there is replaced.
    public func writeRoot(to file: URL) throws {
        try Data(try rootPEM.utf8).write(to: file, options: .atomic)
    }

    /// Issues a certificate for a server: the same one each time for the same description.
    ///
    /// Servers ask for theirs by themselves. Call it to pin a key, or for a server of another kind.
    public func issue(_ certificate: TestCertificate) throws(Failure) -> TestIdentity {
        try issue(certificate, name: nil)
    }

    /// Issues a certificate for a client, to be shown to a server that asks for one (``ServerTLS/clientCertificate``).
    ///
    /// - Parameters:
    ///   - name: Who the client is: the subject's Common Name.
    ///   - certificate: What else it is; its hosts do not count. With ``TestCertificate/unknownRoot`` and the like the
    ///     server rejects it.
    public func issueClient(
        name: String, _ certificate: TestCertificate = .valid
    ) throws(Failure) -> TestIdentity {
        try issue(certificate, name: name)
    }

    /// Issues the certificate of a server that a client has asked for by a name, if it has.
    func issue(_ certificate: TestCertificate, to serverName: String?) throws(Failure) -> TestIdentity {
        switch certificate.names {
        case .hosts: return try issue(certificate)
        case .asked:
            let own = serverName ?? "127.0.0.1"
            let local = ["127.0.0.1", "::1", "localhost", "in-memory.test"].filter { $0 != own }
            return try issue(certificate.named(.hosts([own] + local)))
        }
    }

    // MARK: Issuing. All of it under the lock.

    private func issue(_ certificate: TestCertificate, name: String?) throws(Failure) -> TestIdentity {
        if name == nil, case .asked = certificate.names { return try issue(certificate, to: nil) }
        let openSSL = try Self.openSSL()
        return try state.withLock { state throws(Failure) in
            if name == nil, let issued = state.issued[certificate] { return issued }
            let identity = try Self.make(certificate, name, &state, openSSL)
            if name == nil, state.issued.count < Self.limit { state.issued[certificate] = identity }
            return identity
        }
    }

    private static func make(
        _ certificate: TestCertificate, _ clientName: String?, _ state: inout State, _ openSSL: OpenSSLFunctions
    ) throws(Failure) -> TestIdentity {
        var (issuer, sent) = try issuer(certificate.issuer, &state, openSSL)
        let key = try key(certificate.keyKind, &state, openSSL)
        let now = Date.now
        let serial = state.nextSerial()
        var hosts: [String] =
            switch certificate.names {
            case .asked: []
            case .hosts(let names): names
            }
        let subject = clientName ?? hosts.first ?? "test"
        if clientName != nil { hosts = [] }
        switch certificate.namePlace {
        case .alternativeNames: break
        case .commonName: hosts = []
        }
        let role: CertificateDraft.Role =
            switch certificate.purpose {
            case .server: clientName == nil ? .server : .client
            case .client: .client
            }
        let draft = CertificateDraft(
            serial: serial, subject: subject, hosts: hosts, validity: validity(certificate.validity, now), role: role)
        let signed = try draft.signed(for: key, by: issuer)
        var status: [UInt8]?
        if let said = certificate.status, let issuer {
            let response = StatusResponse(
                serial: serial, status: said, now: now, undatedDays: certificate.undatedDays)
            status = try response.signed(by: issuer)
            // Some clients look for the issuer of the response among what the server sends alone.
            if sent.isEmpty { sent = [issuer.certificate] }
        }
        return TestIdentity([signed] + sent, key, status: status)
    }

    private static func validity(_ validity: TestCertificate.Validity, _ now: Date) -> ClosedRange<Date> {
        switch validity {
        case .current: now - day...now + 300 * day
        case .expired: now - 100 * day...now - day
        case .notYet: now + day...now + 100 * day
        case .dates(let start, let end): start...max(start, end)
        }
    }

    /// A key of the kind: a new one where that takes no time.
    private static func key(
        _ kind: TestCertificate.Key, _ state: inout State, _ openSSL: OpenSSLFunctions
    ) throws(Failure) -> PrivateKey {
        guard case .rsa = kind else { return try PrivateKey(kind, openSSL) }
        if let key = state.keys[kind] { return key }
        let key = try PrivateKey(kind, openSSL)
        state.keys[kind] = key
        return key
    }

    // MARK: Issuers

    /// The issuer, `nil` for the certificate itself, and the certificates to be sent with those that it issues.
    private static func issuer(
        _ issuer: TestCertificate.Issuer, _ state: inout State, _ openSSL: OpenSSLFunctions
    ) throws(Failure) -> (CertificateIssuer?, sent: [[UInt8]]) {
        switch issuer {
        case .root: return (try root(&state, openSSL), [])
        case .itself: return (nil, [])
        case .intermediate:
            let issuer = try intermediate(&state, openSSL)
            return (issuer, [issuer.certificate])
        case .missingIntermediate: return (try intermediate(&state, openSSL), [])
        case .commoner:
            let issuer: CertificateIssuer
            if let made = state.commoner {
                issuer = made
            } else {
                issuer = try subordinate("commoner.test", .server, &state, openSSL)
                state.commoner = issuer
            }
            return (issuer, [issuer.certificate])
        case .unknownRoot:
            if let made = state.unknownRoot { return (made, []) }
            let issuer = try newRoot("Unknown Test Root", &state, openSSL)
            state.unknownRoot = issuer
            return (issuer, [])
        }
    }

    private static func root(_ state: inout State, _ openSSL: OpenSSLFunctions) throws(Failure) -> CertificateIssuer {
        if let root = state.root { return root }
        let root = try newRoot("Purl Test Root", &state, openSSL)
        state.root = root
        return root
    }

    private static func intermediate(
        _ state: inout State, _ openSSL: OpenSSLFunctions
    ) throws(Failure) -> CertificateIssuer {
        if let made = state.intermediate { return made }
        let issuer = try subordinate("Purl Test Intermediate", .authority, &state, openSSL)
        state.intermediate = issuer
        return issuer
    }

    private static func newRoot(
        _ name: String, _ state: inout State, _ openSSL: OpenSSLFunctions
    ) throws(Failure) -> CertificateIssuer {
        let key = try PrivateKey(.p256, openSSL)
        // Each root has a name of its own, so that a client that knows several finds the right one.
        let digits = key.keyIdentifier.prefix(6).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
        return try issuer("\(name) \(digits.joined())", key, .authority, by: nil, &state)
    }

    private static func subordinate(
        _ name: String, _ role: CertificateDraft.Role, _ state: inout State, _ openSSL: OpenSSLFunctions
    ) throws(Failure) -> CertificateIssuer {
        let root = try root(&state, openSSL)
        return try issuer(name, try PrivateKey(.p256, openSSL), role, by: root, &state)
    }

    private static func issuer(
        _ name: String, _ key: PrivateKey, _ role: CertificateDraft.Role, by parent: CertificateIssuer?,
        _ state: inout State
    ) throws(Failure) -> CertificateIssuer {
        let now = Date.now
        let draft = CertificateDraft(
            serial: state.nextSerial(), subject: name, validity: now - 1000 * day...now + 1000 * day, role: role)
        return CertificateIssuer(
            name: CertificateDraft.name(name), key: key, certificate: try draft.signed(for: key, by: parent))
    }

    static func openSSL() throws(Failure) -> OpenSSLFunctions {
        do {
            return try OpenSSLFunctions.shared()
        } catch {
            throw Failure(error.reason)
        }
    }
}
