/// A key pair that was made in this process.
final class PrivateKey: Sendable {
    // An EVP_PKEY may be used by many threads, and is not changed once it is made.
    nonisolated(unsafe) let pointer: OpenSSLFunctions.Object
    let kind: TestCertificate.Key
    /// The public key as a certificate has it (SubjectPublicKeyInfo, RFC 5280 §4.1.2.7).
    let publicKey: [UInt8]

    private let openSSL: OpenSSLFunctions

    init(_ kind: TestCertificate.Key, _ openSSL: OpenSSLFunctions) throws(TestAuthority.Failure) {
        let context = openSSL.keyContextNewFromName(nil, kind.algorithm, nil)
        defer { openSSL.keyContextFree(context) }
        var pointer: OpenSSLFunctions.Object?
        guard let context, openSSL.keygenInit(context) == 1, kind.setParameters(of: context, openSSL),
            openSSL.generate(context, &pointer) == 1, let pointer
        else {
            throw TestAuthority.Failure("a key cannot be made: \(openSSL.takeErrors())")
        }
        guard let publicKey = openSSL.encoded(pointer, by: openSSL.encodePublicKey) else {
            openSSL.keyFree(pointer)
            throw TestAuthority.Failure("a key cannot be written: \(openSSL.takeErrors())")
        }
        (self.pointer, self.kind, self.publicKey, self.openSSL) = (pointer, kind, publicKey, openSSL)
    }

    deinit {
        openSSL.keyFree(pointer)
    }

    /// The private key in PKCS #8 (RFC 5958), without a passphrase.
    func encoded() throws(TestAuthority.Failure) -> [UInt8] {
        let info = openSSL.keyToPKCS8(pointer)
        defer { openSSL.pkcs8Free(info) }
        guard let info, let bytes = openSSL.encoded(info, by: openSSL.encodePKCS8) else {
            throw TestAuthority.Failure("a key cannot be written: \(openSSL.takeErrors())")
        }
        return bytes
    }

    /// The signature of some bytes, with SHA-256 where the kind of key takes a digest.
    func signature(of bytes: [UInt8]) throws(TestAuthority.Failure) -> [UInt8] {
        let context = openSSL.digestContextNew()
        defer { openSSL.digestContextFree(context) }
        var count = 0
        guard let context,
            openSSL.digestSignInit(context, nil, kind.digest, nil, nil, pointer, nil) == 1,
            openSSL.digestSign(context, nil, &count, bytes, bytes.count) == 1
        else {
            throw TestAuthority.Failure("nothing can be signed: \(openSSL.takeErrors())")
        }
        var signature = [UInt8](repeating: 0, count: count)
        guard openSSL.digestSign(context, &signature, &count, bytes, bytes.count) == 1 else {
            throw TestAuthority.Failure("nothing can be signed: \(openSSL.takeErrors())")
        }
        return Array(signature[..<count])
    }
}

extension TestCertificate.Key {
    fileprivate var algorithm: String {
        switch self {
        case .p256, .p384: "EC"
        case .rsa: "RSA"
        case .ed25519: "ED25519"
        }
    }

    fileprivate var digest: String? {
        switch self {
        case .p256, .p384, .rsa: "SHA256"
        case .ed25519: nil
        }
    }

    fileprivate func setParameters(of context: OpenSSLFunctions.Object, _ openSSL: OpenSSLFunctions) -> Bool {
        switch self {
        case .p256: openSSL.setGroupName(context, "P-256") == 1
        case .p384: openSSL.setGroupName(context, "P-384") == 1
        case .rsa(let bits): openSSL.setRSABits(context, Int32(clamping: bits)) == 1
        case .ed25519: true
        }
    }

    /// What a signature with such a key is (AlgorithmIdentifier).
    var signatureAlgorithm: [UInt8] {
        switch self {
        case .p256, .p384: DER.sequence(DER.identifier(1, 2, 840, 10045, 4, 3, 2))
        case .rsa: DER.sequence(DER.identifier(1, 2, 840, 113549, 1, 1, 11), DER.null)
        case .ed25519: DER.sequence(DER.identifier(1, 3, 101, 112))
        }
    }
}
