import Foundation
import Purl

/// Gives an `SSL_CTX` the client's certificate and key.
struct IdentityLoader {
    private let openSSL: OpenSSL
    private let context: OpaquePointer
    private let files: FileReader

    init(_ openSSL: OpenSSL, _ context: OpaquePointer, _ files: FileReader) {
        self.files = files
        self.openSSL = openSSL
        self.context = context
    }

    func load(_ identity: SystemTLS.Identity) throws(TLSError) {
        switch identity.form {
        case .separate(let certificates, let key):
            let content = try SourceContent(certificates, files)
            let keyContent = try key == certificates ? content : SourceContent(key, files)
            var isFirst = true
            let reader = CertificateReader(openSSL: openSSL)
            try reader.certificates(in: content) { certificate throws(TLSError) in
                try isFirst ? use(certificate, content) : addIssuer(certificate, content)
                isFirst = false
            }
            let privateKey = try reader.privateKey(in: keyContent, passphrase: identity.passphrase)
            defer { openSSL.EVP_PKEY_free(privateKey) }
            try use(key: privateKey, keyContent, of: content)
        case .archive(let source):
            try loadArchive(SourceContent(source, files), identity.passphrase ?? "")
        }
    }

    private func loadArchive(_ content: SourceContent, _ passphrase: String) throws(TLSError) {
        openSSL.ERR_clear_error()
        guard let archive = CertificateReader(openSSL: openSSL).decode(content.bytes, openSSL.d2i_PKCS12) else {
            openSSL.ERR_clear_error()
            throw content.error("is not in PKCS #12")
        }
        defer { openSSL.PKCS12_free(archive) }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var issuers: OpaquePointer?
        guard openSSL.PKCS12_parse(archive, passphrase, &key, &certificate, &issuers) == 1 else {
            let errors = OpenSSLErrors.take(openSSL)
            // ERR_LIB_PKCS12 and PKCS12_R_MAC_VERIFY_FAILURE
            let isPassphrase = errors.library == 35 && errors.reason == 113
            throw content.error(
                isPassphrase ? "has another passphrase" : "cannot be used: \(errors.sentence)")
        }
        defer {
            openSSL.EVP_PKEY_free(key)
            openSSL.X509_free(certificate)
            openSSL.OPENSSL_sk_pop_free(issuers, openSSL.X509_free)
        }
        guard let certificate else { throw content.error("contains no certificate") }
        guard let key else { throw content.error("contains no private key") }
        try use(certificate, content)
        for index in 0..<max(0, openSSL.OPENSSL_sk_num(issuers)) {
            if let issuer = openSSL.OPENSSL_sk_value(issuers, index) { try addIssuer(issuer, content) }
        }
        try use(key: key, content, of: content)
    }

    private func use(_ certificate: OpaquePointer, _ content: SourceContent) throws(TLSError) {
        guard openSSL.SSL_CTX_use_certificate(context, certificate) == 1 else {
            throw content.error("has a certificate that cannot be used: \(OpenSSLErrors.take(openSSL).sentence)")
        }
    }

    /// SSL_CTX_add1_chain_cert.
    private func addIssuer(_ certificate: OpaquePointer, _ content: SourceContent) throws(TLSError) {
        guard openSSL.SSL_CTX_ctrl(context, 89, 1, UnsafeMutableRawPointer(certificate)) == 1 else {
            throw content.error("has a certificate that cannot be used: \(OpenSSLErrors.take(openSSL).sentence)")
        }
    }

    private func use(
        key: OpaquePointer, _ content: SourceContent, of certificates: SourceContent
    ) throws(TLSError) {
        guard openSSL.SSL_CTX_use_PrivateKey(context, key) == 1, openSSL.SSL_CTX_check_private_key(context) == 1 else {
            openSSL.ERR_clear_error()
            throw content.error("has a private key that is not that of the certificate in \(certificates.name)")
        }
    }
}
