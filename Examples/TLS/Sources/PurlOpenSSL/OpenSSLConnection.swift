internal import COpenSSL
import Foundation
import Purl

/// The client's side of one connection: an `SSL` between two buffers in memory.
final class OpenSSLConnection: TLSConnection {
    private let ssl: OpaquePointer
    /// What has arrived and OpenSSL has not read.
    private let incoming: OpaquePointer
    /// What OpenSSL has written and is not sent yet.
    private let outgoing: OpaquePointer
    private let host: String
    /// The key under which the TLS session can be resumed.
    private let resumptionKey: String
    private let resumable: ResumableSessions

    init(_ request: TLSConnectionRequest, _ context: OpaquePointer, _ resumable: ResumableSessions) throws {
        guard let ssl = SSL_new(context), let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem())
        else {
            throw TLSError(.unusableSettings, reason: OpenSSLErrors.take().sentence)
        }
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        (host, self.resumable) = (request.host, resumable)
        resumptionKey = "\(request.host):\(request.port)"
        // From here on they are freed with it.
        SSL_set_bio(ssl, incoming, outgoing)
        SSL_set_connect_state(ssl)
        purl_set_owner(ssl, Unmanaged.passUnretained(self).toOpaque())
        try name(request.host)
        let protocols = request.applicationProtocols.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
        guard purl_set_min_version(ssl, Int32(request.minimumVersion.rawValue)) == 1,
            purl_set_max_version(ssl, Int32(request.maximumVersion.rawValue)) == 1,
            protocols.isEmpty || SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) == 0
        else {
            throw TLSError(.unusableSettings, reason: "these versions or protocols cannot be offered")
        }
        if let earlier = resumable.take(for: resumptionKey) { SSL_set_session(ssl, earlier.pointer) }
    }

    deinit {
        purl_set_owner(ssl, nil)
        SSL_free(ssl)
    }

    /// Names the server to itself (RFC 6066 §3, which an address must not be), and the name that its certificate must have.
    private func name(_ host: String) throws {
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1 { return }
        // RFC 6066 §3: without the dot that may end a name.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        // RFC 9110 §4.3.4, RFC 9525 §2: a Common Name is not the name of a host.
        SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT))
        guard SSL_set1_host(ssl, name) == 1, purl_set_server_name(ssl, name) == 1 else {
            throw TLSError(.unusableSettings, reason: "“\(host)” cannot be the name of a TLS server")
        }
    }

    /// Keeps what the server has given to resume the session with. A server that is not trusted is asked for its
    /// certificates each time.
    func keep(_ session: ResumableSession) {
        if SSL_get_verify_result(ssl) == Int(X509_V_OK) { resumable.keep(session, for: resumptionKey) }
    }

    // MARK: TLSConnection

    func handshake() throws -> TLSHandshakeStep {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        if result == 1 { return .done(agreement) }
        if SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ { return .waiting }
        throw failure()
    }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) {
        // It grows as needed: all of it is taken.
        var taken = 0
        _ = BIO_write_ex(incoming, bytes.baseAddress, bytes.count, &taken)
    }

    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = 0
        return BIO_read_ex(outgoing, buffer.baseAddress, buffer.count, &count) == 1 ? count : 0
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead {
        ERR_clear_error()
        var count = 0
        let result = SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        if result == 1 { return .content(count) }
        switch SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .waiting
        case SSL_ERROR_ZERO_RETURN: return .end
        default: throw failure()
        }
    }

    func write(_ content: UnsafeRawBufferPointer) throws -> Int {
        ERR_clear_error()
        var count = 0
        guard SSL_write_ex(ssl, content.baseAddress, content.count, &count) == 1 else { throw failure() }
        return count
    }

    func finishWriting() {
        ERR_clear_error()
        // 0: the alert is written, and the other side's has not come. Neither that nor an error changes anything here.
        _ = SSL_shutdown(ssl)
        ERR_clear_error()
    }

    // MARK: Results

    private var agreement: TLSHandshakeResult {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &name, &length)
        let chosen = name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
        return TLSHandshakeResult(
            version: tls_protocol_version_t(rawValue: UInt16(truncatingIfNeeded: SSL_version(ssl))) ?? .TLSv12,
            cipherSuite: SSL_get_current_cipher(ssl).flatMap {
                tls_ciphersuite_t(rawValue: SSL_CIPHER_get_protocol_id($0))
            },
            applicationProtocol: chosen, isResumed: SSL_session_reused(ssl) == 1, trust: trust)
    }

    private var trust: TLSTrust {
        let certificates = (0..<purl_certificate_count(ssl)).compactMap { Self.encoded(purl_certificate(ssl, $0)) }
        let result = SSL_get_verify_result(ssl)
        guard result != Int(X509_V_OK) else { return TLSTrust(host: host, certificates: certificates) }
        let problem: TLSTrust.Problem =
            switch Int32(truncatingIfNeeded: result) {
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .wrongHost
            case X509_V_ERR_CERT_HAS_EXPIRED: .expired
            case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
            case X509_V_ERR_CERT_REVOKED: .revoked
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
                .unknownRoot
            default: .invalid
            }
        return TLSTrust(
            host: host, certificates: certificates, problem: problem,
            reason: X509_verify_cert_error_string(result).map { String(cString: $0) })
    }

    private static func encoded(_ certificate: OpaquePointer?) -> Data? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &bytes)
        guard count > 0, let bytes else { return nil }
        defer { CRYPTO_free(bytes, nil, 0) }
        return Data(bytes: bytes, count: Int(count))
    }

    private func failure() -> TLSError {
        let errors = OpenSSLErrors.take()
        return TLSError(errors.kind, reason: errors.sentence)
    }
}
