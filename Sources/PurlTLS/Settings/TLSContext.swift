import Foundation
import Purl

/// What all connections of a provider share: the roots, the client's certificate, and what is checked.
final class TLSContext: Sendable {
    let openSSL: OpenSSL
    /// An `SSL_CTX`, which may be used by many threads, and is not changed after `init`.
    nonisolated(unsafe) let pointer: OpaquePointer
    let pins: Set<PublicKeyPin>
    let verification: SystemTLS.Verification
    let resumable = ResumableSessions()
    /// The time by which the ends of ``resumable`` are judged.
    let now: @Sendable () -> Date
    private let keyLog: KeyLog?

    /// 112 bits: RSA keys of 2,048 bits and more, no SHA-1 or MD5 in signatures.
    private static let securityLevel: Int32 = 2

    init(
        _ options: SystemTLS.Options, _ openSSL: OpenSSL, _ files: FileReader, now: @escaping @Sendable () -> Date
    ) throws(TLSError) {
        openSSL.ERR_clear_error()
        guard let context = openSSL.SSL_CTX_new(openSSL.TLS_client_method()) else {
            throw TLSError(.unusableSettings, reason: OpenSSLErrors.take(openSSL).sentence)
        }
        self.openSSL = openSSL
        self.now = now
        pointer = context
        pins = options.pins
        verification = options.verification
        do {
            keyLog = try options.keyLogFile.map { path throws(TLSError) in try KeyLog(path) }
        } catch {
            openSSL.SSL_CTX_free(context)
            throw error
        }
        // From here on `deinit` frees it.
        configure()
        try RootLoader(openSSL, store: openSSL.SSL_CTX_get_cert_store(context), files).load(options.roots)
        if let identity = options.identity { try IdentityLoader(openSSL, context, files).load(identity) }
    }

    deinit {
        openSSL.SSL_CTX_free(pointer)
    }

    private func configure() {
        // SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER; SSL_MODE_RELEASE_BUFFERS, so that an idle connection holds none.
        _ = openSSL.SSL_CTX_ctrl(pointer, 33, 0x02 | 0x10, nil)
        // SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_COMPRESSION
        _ = openSSL.SSL_CTX_set_options(pointer, 1 << 30 | 1 << 17)
        // The chain is verified; the delegate judges the result, so the handshake continues either way (SSL_VERIFY_NONE).
        openSSL.SSL_CTX_set_verify(pointer, 0, nil)
        let level = max(openSSL.SSL_CTX_get_security_level(pointer), Self.securityLevel)
        openSSL.SSL_CTX_set_security_level(pointer, level)
        // The chain of a response about revocation, too.
        let parameters = openSSL.X509_STORE_get0_param(openSSL.SSL_CTX_get_cert_store(pointer))
        openSSL.X509_VERIFY_PARAM_set_auth_level(parameters, level)
        chooseCipherSuites()
        openSSL.SSL_CTX_set_cert_cb(
            pointer,
            { ssl, _ in
                SystemTLSConnection.of(ssl)?.chooseIdentity()
                return 1
            }, nil)
        // SSL_SESS_CACHE_CLIENT, SSL_SESS_CACHE_NO_INTERNAL: sessions are handed to the callback and kept nowhere else.
        _ = openSSL.SSL_CTX_ctrl(pointer, 44, 0x001 | 0x300, nil)
        openSSL.SSL_CTX_sess_set_new_cb(pointer) { ssl, session in
            guard let session, let owner = SystemTLSConnection.of(ssl) else { return 0 }
            owner.receive(session)
            return 1
        }
        guard keyLog != nil else { return }
        openSSL.SSL_CTX_set_keylog_callback(pointer) { ssl, line in
            guard let line, let owner = SystemTLSConnection.of(ssl) else { return }
            owner.context.keyLog?.append(line)
        }
    }
}

extension TLSContext {
    /// Of TLS 1.2 the suites with keys of elliptic curves that are new for each connection, among those that the system allows.
    /// Others are no secret any more once the server's key is known, or let the server choose numbers that take seconds.
    private func chooseCipherSuites() {
        let suites = openSSL.SSL_CTX_get_ciphers(pointer)
        let names = (0..<max(0, openSSL.OPENSSL_sk_num(suites))).compactMap { index -> String? in
            let suite = openSSL.OPENSSL_sk_value(suites, index)
            // NID_kx_ecdhe
            guard openSSL.SSL_CIPHER_get_kx_nid(suite) == 1038 else { return nil }
            return openSSL.SSL_CIPHER_get_name(suite).map { String(cString: $0) }
        }
        if names.isEmpty || openSSL.SSL_CTX_set_cipher_list(pointer, names.joined(separator: ":")) != 1 {
            // SSL_CTRL_SET_MIN_PROTO_VERSION: none is left for TLS 1.2.
            _ = openSSL.SSL_CTX_ctrl(pointer, 123, Int(tls_protocol_version_t.TLSv13.rawValue), nil)
        }
        openSSL.ERR_clear_error()
    }
}

/// A file of the secrets of connections, a line each.
private final class KeyLog: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws(TLSError) {
        // A pipe that nothing reads is an error at once, and one that is full loses lines.
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let why = String(cString: strerror(errno))
            throw TLSError(.unusableSettings, reason: "the key log “\(path)” cannot be written: \(why)")
        }
        var status = stat()
        // A pipe whose reader ends would end the process (SIGPIPE).
        guard fstat(descriptor, &status) == 0, [S_IFREG, S_IFCHR].contains(status.st_mode & S_IFMT) else {
            close(descriptor)
            throw TLSError(.unusableSettings, reason: "the key log “\(path)” is not a regular file")
        }
    }

    deinit {
        close(descriptor)
    }

    /// One call of the system's for a line, so that several processes can share a file.
    func append(_ line: UnsafePointer<CChar>) {
        let bytes = [UInt8](UnsafeRawBufferPointer(start: line, count: strlen(line))) + [0x0A]
        // A disk that is full stops the log, not the transfer.
        _ = write(descriptor, bytes, bytes.count)
    }
}
