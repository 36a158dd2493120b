import Foundation
internal import PurlHTTP

/// Who signs certificates.
struct CertificateIssuer: Sendable {
    /// Its name as certificates have it (RFC 5280 §4.1.2.4).
    let name: [UInt8]
    /// Of the kind P-256.
    let key: PrivateKey
    /// Its own certificate.
    let certificate: [UInt8]

    /// The digest of its key by which certificates and responses refer to it.
    var keyIdentifier: [UInt8] { key.keyIdentifier }
}

/// A certificate before it is signed (RFC 5280 §4.1).
struct CertificateDraft {
    /// What its key may be used for.
    enum Role {
        case authority
        case server
        case client
    }

    let serial: UInt64
    /// The Common Name.
    let subject: String
    /// Alternative names: host names, and addresses in digits.
    var hosts: [String] = []
    let validity: ClosedRange<Date>
    let role: Role

    /// The certificate of `key`.
    ///
    /// - Parameter issuer: Who signs it; `nil` for the key itself.
    func signed(for key: PrivateKey, by issuer: CertificateIssuer?) throws(TestAuthority.Failure) -> [UInt8] {
        let signer = issuer?.key ?? key
        let name = Self.name(subject)
        let content = DER.sequence(
            DER.explicit(0, DER.integer(2)), DER.integer(serial), signer.kind.signatureAlgorithm,
            issuer?.name ?? name,
            DER.sequence(DER.time(validity.lowerBound), DER.time(validity.upperBound)), name, key.publicKey,
            DER.explicit(3, DER.sequence(extensions(key, signer).flatMap { $0 })))
        return DER.sequence(
            content, signer.kind.signatureAlgorithm, DER.bitString(try signer.signature(of: content)))
    }

    /// A name that is a Common Name alone.
    static func name(_ commonName: String) -> [UInt8] {
        // RFC 5280, appendix A: at most 64 characters.
        let text = String(commonName.prefix(64))
        return DER.sequence(DER.set(DER.sequence(DER.identifier(2, 5, 4, 3), DER.utf8String(text))))
    }

    private func extensions(_ key: PrivateKey, _ signer: PrivateKey) -> [[UInt8]] {
        var all: [[UInt8]] = []
        switch role {
        case .authority:
            all.append(Self.extension(19, isCritical: true, DER.sequence(DER.boolean(true))))
            // digitalSignature, for responses about certificates; keyCertSign; cRLSign.
            all.append(Self.extension(15, isCritical: true, DER.bitString([0x86], unusedBits: 1)))
        case .server, .client:
            all.append(Self.extension(19, isCritical: true, DER.sequence()))
            all.append(Self.extension(15, isCritical: true, DER.bitString([0x80], unusedBits: 7)))
            let purpose: UInt = if case .client = role { 2 } else { 1 }
            all.append(Self.extension(37, DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 3, purpose))))
        }
        all.append(Self.extension(14, DER.octetString(key.keyIdentifier)))
        all.append(Self.extension(35, DER.sequence(DER.value(0x80, signer.keyIdentifier))))
        if !hosts.isEmpty {
            let names = hosts.map { host in
                Self.address(host).map { DER.value(0x87, $0) } ?? DER.value(0x82, [UInt8](host.utf8))
            }
            all.append(Self.extension(17, DER.sequence(names.flatMap { $0 })))
        }
        return all
    }

    /// The extension 2.5.29.`number`.
    private static func `extension`(_ number: UInt, isCritical: Bool = false, _ value: [UInt8]) -> [UInt8] {
        DER.sequence(
            DER.identifier(2, 5, 29, number), isCritical ? DER.boolean(true) : [], DER.octetString(value))
    }

    /// The bytes of an address in digits; `nil` for a name.
    private static func address(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}

/// What an issuer says about one of its certificates (OCSP, RFC 6960 §4.2.1).
struct StatusResponse {
    let serial: UInt64
    let status: TestCertificate.Status
    let now: Date
    /// How many days ago it was made, if it does not say when the next one comes.
    let undatedDays: Int?

    /// When it was made, and when the next one comes.
    private var dates: (since: Date, next: Date?) {
        let day: TimeInterval = 86_400
        if let undatedDays { return (now - TimeInterval(undatedDays) * day, nil) }
        return switch status {
        case .good, .revoked, .unknown: (now - 3600, now + day)
        case .outdated: (now - 7 * day, now - day)
        }
    }

    func signed(by issuer: CertificateIssuer) throws(TestAuthority.Failure) -> [UInt8] {
        let (since, next) = dates
        let nextUpdate = next.map { DER.explicit(0, DER.generalizedTime($0)) } ?? []
        let certificate = DER.sequence(
            DER.sequence(DER.identifier(1, 3, 14, 3, 2, 26), DER.null), DER.octetString(issuer.name.sha1),
            DER.octetString(issuer.keyIdentifier), DER.integer(serial))
        let verdict =
            switch status {
            case .good, .outdated: DER.value(0x80, [])
            case .revoked: DER.value(0xA1, DER.generalizedTime(now - 3600) + DER.explicit(0, DER.enumerated(1)))
            case .unknown: DER.value(0x82, [])
            }
        let content = DER.sequence(
            DER.explicit(2, DER.octetString(issuer.keyIdentifier)), DER.generalizedTime(since),
            DER.sequence(DER.sequence(certificate, verdict, DER.generalizedTime(since), nextUpdate)))
        let basic = DER.sequence(
            content, issuer.key.kind.signatureAlgorithm, DER.bitString(try issuer.key.signature(of: content)),
            // A root's is not among those that the server sends.
            DER.explicit(0, DER.sequence(issuer.certificate)))
        return DER.sequence(
            DER.enumerated(0),
            DER.explicit(
                0, DER.sequence(DER.identifier(1, 3, 6, 1, 5, 5, 7, 48, 1, 1), DER.octetString(basic))))
    }
}

extension PrivateKey {
    /// The digest of the public key (RFC 5280 §4.2.1.2).
    var keyIdentifier: [UInt8] {
        // The content of the bit string, which ends the structure: of a P-256 key the point, of 65 bytes. Responses about
        // certificates need exactly that digest, and all issuers have such a key.
        switch kind {
        case .p256: publicKey.suffix(65).sha1
        case .p384, .rsa, .ed25519: publicKey.sha1
        }
    }
}

extension Sequence where Element == UInt8 {
    fileprivate var sha1: [UInt8] {
        var digest = SHA1()
        let bytes = Array(self)
        digest.update(bytes.span.bytes)
        return digest.finalize()
    }
}

extension DER {
    /// A time of a certificate (RFC 5280 §4.1.2.5).
    fileprivate static func time(_ date: Date) -> [UInt8] {
        let digits = self.digits(date)
        // From 2050 on, and before 1950, with four digits of the year.
        return (1950..<2050).contains(Int(digits.prefix(4)) ?? 0)
            ? value(0x17, Array(digits.dropFirst(2).utf8)) : generalizedTime(date)
    }

    fileprivate static func generalizedTime(_ date: Date) -> [UInt8] { value(0x18, Array(digits(date).utf8)) }

    /// `YYYYMMDDHHMMSSZ`.
    private static func digits(_ date: Date) -> String {
        // The years that four digits can tell.
        let seconds = min(max(date.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        return String(
            format: "%04d%02d%02d%02d%02d%02dZ", Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday),
            Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec))
    }
}
