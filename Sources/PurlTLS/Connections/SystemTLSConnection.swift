import Foundation
import Purl

/// The client's side of one connection: an `SSL` between two buffers in memory.
final class SystemTLSConnection: TLSConnection {
    /// What may be kept of the sessions that the server gives to resume this one with.
    private enum Resumption {
        /// The handshake is not done, and what has been given so far waits for its verdict.
        case undecided([ResumableSession])
        case keep
        case drop
    }

    let context: TLSContext
    private let openSSL: OpenSSL
    private let ssl: OpaquePointer
    private let buffers = CiphertextBuffers()
    private let request: TLSConnectionRequest
    private var resumption = Resumption.undecided([])
    /// The session that this connection may resume.
    private var earlier: ResumableSession?

    init(_ request: TLSConnectionRequest, _ context: TLSContext) throws(TLSError) {
        openSSL = context.openSSL
        openSSL.ERR_clear_error()
        guard let ssl = openSSL.SSL_new(context.pointer) else {
            throw TLSError(.unusableSettings, reason: OpenSSLErrors.take(openSSL).sentence)
        }
        self.ssl = ssl
        self.context = context
        self.request = request
        // From here on `deinit` frees it, and the BIO with it.
        guard let bio = buffers.makeBIO(openSSL) else {
            throw TLSError(.unusableSettings, reason: OpenSSLErrors.take(openSSL).sentence)
        }
        openSSL.SSL_set_bio(ssl, bio, bio)
        openSSL.SSL_set_connect_state(ssl)
        _ = openSSL.SSL_set_ex_data(ssl, openSSL.ownerIndex, Unmanaged.passUnretained(self).toOpaque())
        try name(request.host)
        try offer()
        earlier = context.resumable.take(for: request)
        if let earlier { _ = openSSL.SSL_set_session(ssl, earlier.pointer) }
    }

    deinit {
        _ = openSSL.SSL_set_ex_data(ssl, openSSL.ownerIndex, nil)
        // SSL_SENT_SHUTDOWN and SSL_RECEIVED_SHUTDOWN: else the session of a connection that ends without `close_notify` could
        // not be resumed, which RFC 5246 §7.2.1 no longer asks for.
        openSSL.SSL_set_shutdown(ssl, 3)
        openSSL.SSL_free(ssl)
        // What OpenSSL has queued on this thread is no later connection's.
        openSSL.ERR_clear_error()
    }

    /// The connection that OpenSSL calls for.
    static func of(_ ssl: OpaquePointer?) -> SystemTLSConnection? {
        let openSSL = OpenSSL.loaded
        return openSSL.SSL_get_ex_data(ssl, openSSL.ownerIndex).map {
            Unmanaged<SystemTLSConnection>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Names the server to itself (RFC 6066 §3, which an address must not be), and the name that its certificate must have.
    private func name(_ host: String) throws(TLSError) {
        let isName = host.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        if isName, openSSL.X509_VERIFY_PARAM_set1_ip_asc(openSSL.SSL_get0_param(ssl), host) == 1 { return }
        openSSL.ERR_clear_error()
        // RFC 6066 §3: without the dot that may end a name.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        // RFC 9525 §6.3: no wildcard within a label (X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS). §2: a Common Name is not the
        // name of a host (X509_CHECK_FLAG_NEVER_CHECK_SUBJECT).
        openSSL.SSL_set_hostflags(ssl, 0x04 | 0x20)
        // OpenSSL takes a dot in front for any name below, and no name at all for every one.
        guard isName, !name.isEmpty, !name.hasPrefix("."), openSSL.SSL_set1_host(ssl, name) == 1,
            name.withCString({ setServerName($0) })
        else {
            openSSL.ERR_clear_error()
            throw TLSError(.unusableSettings, reason: "“\(host)” cannot be the name of a TLS server")
        }
    }

    /// SSL_set_tlsext_host_name.
    private func setServerName(_ name: UnsafePointer<CChar>) -> Bool {
        openSSL.SSL_ctrl(ssl, 55, 0, UnsafeMutableRawPointer(mutating: name)) == 1
    }

    /// Versions, protocols, and that a response about revocation may be stapled to the certificate.
    private func offer() throws(TLSError) {
        let lowest = max(request.minimumVersion.rawValue, tls_protocol_version_t.TLSv12.rawValue)
        // The protocols of the second kind are DTLS.
        guard request.maximumVersion.rawValue >= lowest, request.maximumVersion.rawValue < 0x0400 else {
            throw TLSError(.unusableSettings, reason: "only TLS 1.2 and 1.3 can be offered")
        }
        let protocols = request.applicationProtocols.flatMap { [UInt8(clamping: $0.utf8.count)] + $0.utf8 }
        guard request.applicationProtocols.allSatisfy({ 1...255 ~= $0.utf8.count }),
            // SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION
            openSSL.SSL_ctrl(ssl, 123, Int(lowest), nil) == 1,
            openSSL.SSL_ctrl(ssl, 124, Int(request.maximumVersion.rawValue), nil) == 1,
            protocols.isEmpty || openSSL.SSL_set_alpn_protos(ssl, protocols, UInt32(protocols.count)) == 0
        else {
            openSSL.ERR_clear_error()
            throw TLSError(.unusableSettings, reason: "these versions or protocols cannot be offered")
        }
        // SSL_set_tlsext_status_type with TLSEXT_STATUSTYPE_ocsp.
        _ = openSSL.SSL_ctrl(ssl, 65, 1, nil)
    }

    /// Takes what the server has given to resume the session with. A server that is not trusted is asked for its
    /// certificates each time.
    func receive(_ session: OpaquePointer) {
        let session = ResumableSession(owning: session, openSSL)
        switch resumption {
        case .undecided(let sessions): resumption = .undecided(sessions + [session])
        case .keep: context.resumable.keep(session, for: request)
        case .drop: break
        }
    }

    private func decideResumption(isTrusted: Bool, isResumed: Bool) {
        guard case .undecided(let sessions) = resumption else { return }
        resumption = isTrusted ? .keep : .drop
        guard isTrusted else { return }
        for session in sessions { context.resumable.keep(session, for: request) }
        if isResumed, sessions.isEmpty, let earlier, earlier.isReusable {
            context.resumable.keep(earlier, for: request)
        }
        earlier = nil
    }

    // MARK: TLSConnection

    func handshake() throws -> TLSHandshakeStep {
        openSSL.ERR_clear_error()
        let result = openSSL.SSL_do_handshake(ssl)
        if result == 1 { return .done(agreement()) }
        // SSL_ERROR_WANT_READ
        if openSSL.SSL_get_error(ssl, result) == 2 { return .waiting }
        throw failure()
    }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { buffers.receive(bytes) }

    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int { buffers.send(into: buffer) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead {
        openSSL.ERR_clear_error()
        var count = 0
        let result = openSSL.SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        if result == 1 { return .content(count) }
        switch openSSL.SSL_get_error(ssl, result) {
        // SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE
        case 2, 3: return .waiting
        // SSL_ERROR_ZERO_RETURN
        case 6: return .end
        default: throw failure()
        }
    }

    func write(_ content: UnsafeRawBufferPointer) throws -> Int {
        openSSL.ERR_clear_error()
        buffers.expect(content.count)
        var count = 0
        guard openSSL.SSL_write_ex(ssl, content.baseAddress, content.count, &count) == 1 else { throw failure() }
        return count
    }

    func finishWriting() {
        openSSL.ERR_clear_error()
        // 0: the alert is written, and the other side's has not come. Neither that nor an error changes anything here.
        _ = openSSL.SSL_shutdown(ssl)
        openSSL.ERR_clear_error()
    }

    // MARK: Results

    private func agreement() -> TLSHandshakeResult {
        var name: OpenSSL.Bytes?
        var length: UInt32 = 0
        openSSL.SSL_get0_alpn_selected(ssl, &name, &length)
        let chosen = name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
        let isResumed = openSSL.SSL_session_reused(ssl) == 1
        let judge = ServerJudge(context: context, ssl: ssl, isResumed: isResumed)
        let trust = judge.trust(in: request.host)
        decideResumption(isTrusted: judge.problem == nil, isResumed: isResumed)
        openSSL.ERR_clear_error()
        let version = UInt16(truncatingIfNeeded: openSSL.SSL_version(ssl))
        return TLSHandshakeResult(
            version: tls_protocol_version_t(rawValue: version) ?? .TLSv12,
            cipherSuite: openSSL.SSL_get_current_cipher(ssl).flatMap {
                tls_ciphersuite_t(rawValue: openSSL.SSL_CIPHER_get_protocol_id($0))
            },
            applicationProtocol: chosen, isResumed: isResumed, trust: trust)
    }

    private func failure() -> TLSError {
        let errors = OpenSSLErrors.take(openSSL)
        return TLSError(errors.kind, reason: errors.sentence)
    }
}
