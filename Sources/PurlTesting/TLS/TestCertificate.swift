public import Foundation

/// The certificate with which a server of a test names itself: a right one, or one in which something is wrong.
///
/// A certificate is a value, which a ``TestAuthority`` issues. Begin with one that has a name, and change it:
///
/// ```swift
/// let server = try LoopbackServer(tls: authority, certificate: .valid(for: ["*.example.test"]).key(.rsa(bits: 2048)))
/// ```
public struct TestCertificate: Sendable, Hashable {
    /// A kind of key.
    public enum Key: Sendable, Hashable {
        /// An elliptic curve's, P-256: the fastest.
        case p256
        /// An elliptic curve's, P-384.
        case p384
        /// RSA's, of so many bits. Making one takes time, about a tenth of a second for 2048 bits, so an authority makes one
        /// for all certificates with keys of that length.
        case rsa(bits: Int)
        /// Ed25519.
        case ed25519
    }

    /// What the issuer says about a certificate in a response that the server staples to it (OCSP, RFC 6960), to clients
    /// that ask for one.
    public enum Status: Sendable, Hashable {
        /// It is valid.
        case good
        /// It was revoked an hour ago.
        case revoked
        /// The issuer does not know it.
        case unknown
        /// The response says that the certificate is valid, and was to be replaced by a newer one a day ago.
        case outdated
    }

    /// Whom a certificate is for.
    enum Names: Hashable {
        /// Whomever the client asks for by name, and this machine.
        case asked
        case hosts([String])
    }

    /// Where the names are.
    enum NamePlace: Hashable {
        case alternativeNames
        /// The first one in the subject's Common Name, and nowhere else.
        case commonName
    }

    enum Issuer: Hashable {
        case root
        /// One that the root has issued, and the server sends.
        case intermediate
        /// One that the root has issued, and the server does not send.
        case missingIntermediate
        /// One that the root has issued, not as an authority.
        case commoner
        /// A root that no client knows.
        case unknownRoot
        case itself
    }

    enum Validity: Hashable {
        case current
        case expired
        case notYet
        case dates(from: Date, until: Date)
    }

    enum Purpose: Hashable {
        case server
        case client
    }

    private(set) var names = Names.asked
    private(set) var namePlace = NamePlace.alternativeNames
    private(set) var issuer = Issuer.root
    private(set) var validity = Validity.current
    private(set) var purpose = Purpose.server
    private(set) var keyKind = Key.p256
    private(set) var status: Status?
    /// How many days old the response about the status is, if it does not say when the next one comes.
    private(set) var undatedDays: Int?

    private func with(_ change: (inout TestCertificate) -> Void) -> TestCertificate {
        var certificate = self
        change(&certificate)
        return certificate
    }
}

// MARK: - Right ones

extension TestCertificate {
    /// Right in everything: for the host that the client asks for by its name (SNI), whatever it is, and for `localhost`,
    /// `127.0.0.1`, `::1` and `in-memory.test`.
    public static let valid = TestCertificate()

    /// Right in everything, for these hosts and no others.
    ///
    /// - Parameter hosts: Names, perhaps with a wildcard (`*.example.test`), and addresses in digits.
    public static func valid(for hosts: [String]) -> TestCertificate {
        valid.with { $0.names = .hosts(hosts) }
    }

    /// Right, and issued by an intermediate authority, whose certificate the server sends.
    public static let intermediate = valid.with { $0.issuer = .intermediate }
}

// MARK: - Wrong ones

extension TestCertificate {
    /// Was valid until yesterday.
    public static let expired = valid.with { $0.validity = .expired }

    /// Will be valid from tomorrow on.
    public static let notYetValid = valid.with { $0.validity = .notYet }

    /// For `another-host.test`.
    public static let otherHost = valid(for: ["another-host.test"])

    /// Issued by itself alone.
    public static let selfSigned = valid.with { $0.issuer = .itself }

    /// Issued by a root of the same kind as the authority's, which is not the authority's.
    public static let unknownRoot = valid.with { $0.issuer = .unknownRoot }

    /// Issued by an intermediate authority whose certificate the server does not send.
    public static let missingIntermediate = valid.with { $0.issuer = .missingIntermediate }

    /// Issued with a certificate of the root's that is not an authority's: another server's, say.
    public static let intermediateWithoutAuthority = valid.with { $0.issuer = .commoner }

    /// Revoked, as a stapled response of its issuer says.
    public static let revoked = valid.with { $0.status = .revoked }

    /// Has the host in its Common Name, where clients do not look any more (RFC 9525 §2), and nowhere else.
    public static let commonNameOnly = valid.with { $0.namePlace = .commonName }

    /// For clients, not for servers (RFC 5280 §4.2.1.12).
    public static let clientOnly = valid.with { $0.purpose = .client }

    /// The wrong ones that a client must reject; ``revoked`` for clients that ask for stapled responses.
    public static let wrong: [TestCertificate] = [
        .expired, .notYetValid, .otherHost, .selfSigned, .unknownRoot, .missingIntermediate,
        .intermediateWithoutAuthority, .revoked, .commonNameOnly, .clientOnly,
    ]
}

// MARK: - Changes

extension TestCertificate {
    /// With a key of another kind than P-256.
    public func key(_ key: Key) -> TestCertificate { with { $0.keyKind = key } }

    /// With a response of the issuer that the server staples to it.
    public func stapling(_ status: Status) -> TestCertificate { with { $0.status = status } }

    /// With a response of the issuer that is some days old, and does not say when the next one comes.
    package func stapling(_ status: Status, undatedFor days: Int) -> TestCertificate {
        with {
            $0.status = status
            $0.undatedDays = days
        }
    }

    /// Valid between two dates.
    ///
    /// - Parameters:
    ///   - start: The first moment at which it is valid.
    ///   - end: The last one.
    public func valid(from start: Date, until end: Date) -> TestCertificate {
        with { $0.validity = .dates(from: start, until: end) }
    }

    /// For other hosts.
    func named(_ names: Names) -> TestCertificate { with { $0.names = names } }
}

extension TestCertificate: CustomStringConvertible {
    /// What is special about the certificate, in words: “expired”.
    public var description: String {
        var parts: [String] = []
        switch names {
        case .asked: break
        case .hosts(let hosts): parts.append("for \(hosts.joined(separator: ", "))")
        }
        switch namePlace {
        case .alternativeNames: break
        case .commonName: parts.append("with a Common Name only")
        }
        switch issuer {
        case .root: break
        case .intermediate: parts.append("of an intermediate authority")
        case .missingIntermediate: parts.append("of an intermediate authority that is not sent")
        case .commoner: parts.append("of an issuer that is not an authority")
        case .unknownRoot: parts.append("of an unknown root")
        case .itself: parts.append("self-signed")
        }
        switch validity {
        case .current: break
        case .expired: parts.append("expired")
        case .notYet: parts.append("not yet valid")
        case .dates(let start, let end): parts.append("valid from \(start) until \(end)")
        }
        switch purpose {
        case .server: break
        case .client: parts.append("for clients only")
        }
        if keyKind != .p256 { parts.append("with a key \(keyKind)") }
        if let status { parts.append("\(status)") }
        return parts.isEmpty ? "valid" : parts.joined(separator: ", ")
    }
}
