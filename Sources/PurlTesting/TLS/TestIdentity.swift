public import Foundation
internal import PurlHTTP

/// A certificate that a ``TestAuthority`` has issued, with its key: a server's, or a client's.
public struct TestIdentity: Sendable {
    /// The certificate, then those of its issuers that are sent with it, in DER.
    public let certificates: [Data]
    /// The SHA-256 digest of the public key (SubjectPublicKeyInfo), which clients can pin.
    public let publicKeyDigest: Data

    let key: PrivateKey
    /// The response of the issuer that a server staples to the certificate.
    let status: [UInt8]?

    init(_ certificates: [[UInt8]], _ key: PrivateKey, status: [UInt8]?) {
        self.certificates = certificates.map { Data($0) }
        var digest = SHA256()
        let publicKey = key.publicKey
        digest.update(publicKey.span.bytes)
        publicKeyDigest = Data(digest.finalize())
        (self.key, self.status) = (key, status)
    }

    /// The certificate, then those of its issuers that are sent with it, in PEM.
    public var certificatesPEM: String { certificates.map { PEM.text("CERTIFICATE", $0) }.joined() }

    /// The private key in DER (PKCS #8, RFC 5958), without a passphrase.
    public var privateKeyDER: Data {
        get throws(TestAuthority.Failure) { Data(try key.encoded()) }
    }

    /// The private key in PEM (PKCS #8), without a passphrase.
    public var privateKeyPEM: String {
        get throws(TestAuthority.Failure) { PEM.text("PRIVATE KEY", try privateKeyDER) }
    }
}

/// The textual encoding of certificates and keys (RFC 7468).
enum PEM {
    static func text(_ label: String, _ content: Data) -> String {
        let lines = content.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN \(label)-----\n\(lines)\n-----END \(label)-----\n"
    }
}
