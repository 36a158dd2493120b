import Foundation
import Purl

/// The client's side of one connection: an `SSL` between two buffers in memory.
final class SystemTLSConnection: TLSConnection {
    /// What may be kept of the sessions that the server gives to resume this one with.
    private enum Resumption {
        /// The handshake is not done, and what has been given so far waits for its verdict.
        case undecided([ResumableSession])
        /// Until this time.
        case keep(Date)
        case drop
    }

    let context: TLSContext
    private let openSSL: OpenSSL
    private let ssl: OpaquePointer
    private let buffers = CiphertextBuffers()
    private let request: TLSConnectionRequest
    private var resumption = Resumption.undecided([])
    /// The session that this connection may resume.
    private var earlier: (session: ResumableSession, end: Date)?
    /// Why the server is not trusted, if it has therefore not been given the certificate that it has asked for.
    private var withheld: String?
    /// OpenSSL has given all content of what has arrived, and need not be asked for more: to say so takes it as long as a small
    /// record.
    private var isDrained = false
    /// What the connection has failed with. OpenSSL 3.3 and 3.5, called once more, drop the bad record and continue.
    private var lastFailure: TLSError?

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
        earlier = context.resumable.take(for: request, at: context.now())
        if let earlier { _ = openSSL.SSL_set_session(ssl, earlier.session.pointer) }
    }

    deinit {
        _ = openSSL.SSL_set_ex_data(ssl, openSSL.ownerIndex, nil)
        // SSL_SENT_SHUTDOWN and SSL_RECEIVED_SHUTDOWN: else the session of a connection that ends without `close_notify` could
        // not be resumed, which RFC 5246 §7.2.1 no longer asks for.
        openSSL.SSL_set_shutdown(ssl, 3)
        openSSL.SSL_free(ssl)
        // What OpenSSL has queued on this thread is not the later connection's.
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
        let isSet: Bool
        switch try ServerName(host) {
        case .address(let bytes):
            isSet = openSSL.X509_VERIFY_PARAM_set1_ip(openSSL.SSL_get0_param(ssl), bytes, bytes.count) == 1
        case .name(let name):
            // RFC 9525 §6.3: no wildcard within a label (X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS). §2: a Common Name is not the
            // name of a host (X509_CHECK_FLAG_NEVER_CHECK_SUBJECT).
            openSSL.SSL_set_hostflags(ssl, 0x04 | 0x20)
            isSet =
                openSSL.SSL_set1_host(ssl, name) == 1
                && ServerName.wildcard(for: name).map { openSSL.SSL_add1_host(ssl, $0) == 1 } ?? true
                && name.withCString { setServerName($0) }
        }
        guard isSet else {
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
        // What the system's settings allow (MinProtocol and MaxProtocol of openssl.cnf), where they say anything:
        // SSL_CTRL_GET_MIN_PROTO_VERSION, SSL_CTRL_GET_MAX_PROTO_VERSION.
        let systemLowest = UInt16(clamping: openSSL.SSL_ctrl(ssl, 130, 0, nil))
        let systemHighest = UInt16(clamping: openSSL.SSL_ctrl(ssl, 131, 0, nil))
        let lowest = max(request.minimumVersion.rawValue, tls_protocol_version_t.TLSv12.rawValue, systemLowest)
        let asked = request.maximumVersion.rawValue
        // The protocols of the second kind are DTLS.
        guard asked >= tls_protocol_version_t.TLSv12.rawValue, asked < 0x0400, request.minimumVersion.rawValue <= asked
        else { throw TLSError(.unusableSettings, reason: "only TLS 1.2 and 1.3 can be offered") }
        let highest = systemHighest == 0 ? asked : min(asked, systemHighest)
        guard highest >= lowest else {
            throw TLSError(
                .unusableSettings,
                reason: "OpenSSL's settings on this system allow none of the versions of TLS that are asked for")
        }
        let protocols = request.applicationProtocols.flatMap { [UInt8(clamping: $0.utf8.count)] + $0.utf8 }
        guard request.applicationProtocols.allSatisfy({ 1...255 ~= $0.utf8.count }),
            // SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION
            openSSL.SSL_ctrl(ssl, 123, Int(lowest), nil) == 1,
            openSSL.SSL_ctrl(ssl, 124, Int(highest), nil) == 1,
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
        case .undecided(let sessions):
            resumption = .undecided(sessions.suffix(ResumableSessions.limitPerServer - 1) + [session])
        case .keep(let end): context.resumable.keep(session, for: request, until: end)
        case .drop: break
        }
    }

    /// The server asks for the client's certificate, after it has sent its own: only a server that is trusted gets one.
    func chooseIdentity() {
        guard let problem = ServerJudge(context: context, ssl: ssl, isResumed: false).problem else { return }
        openSSL.SSL_certs_clear(ssl)
        withheld = problem.reason
    }

    private func decideResumption(isTrusted: Bool, isResumed: Bool) {
        guard case .undecided(let sessions) = resumption else { return }
        guard isTrusted else {
            resumption = .drop
            return
        }
        // What a resumed session is worth was verified when the first one began.
        let end = isResumed ? earlier?.end ?? context.now() : endOfVerdict()
        resumption = .keep(end)
        for session in sessions { context.resumable.keep(session, for: request, until: end) }
        if isResumed, sessions.isEmpty, let earlier, earlier.session.isReusable {
            context.resumable.keep(earlier.session, for: request, until: end)
        }
        earlier = nil
    }

    /// RFC 8446 §4.6.1: the chain is verified anew after seven days, or when one of its certificates has expired.
    private func endOfVerdict() -> Date {
        let chain = openSSL.SSL_get0_verified_chain(ssl)
        return (0..<max(0, openSSL.OPENSSL_sk_num(chain))).reduce(context.now() + 7 * 86_400) { end, index in
            let certificate = openSSL.OPENSSL_sk_value(chain, index)
            return min(end, openSSL.date(openSSL.X509_get0_notAfter(certificate)) ?? end)
        }
    }

    // MARK: TLSConnection

    func handshake() throws -> TLSHandshakeStep {
        try throwLastFailure()
        openSSL.ERR_clear_error()
        let result = openSSL.SSL_do_handshake(ssl)
        if result == 1 { return .done(agreement()) }
        // SSL_ERROR_WANT_READ
        if openSSL.SSL_get_error(ssl, result) == 2 { return .waiting }
        throw failure(of: result)
    }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) {
        isDrained = false
        buffers.receive(bytes)
    }

    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int { buffers.send(into: buffer) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> TLSRead {
        try throwLastFailure()
        if isDrained { return .waiting }
        openSSL.ERR_clear_error()
        var count = 0
        let result = openSSL.SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
        if buffers.isFlooded {
            throw TLSError(.malformed, reason: "the server asks for more and more answers, and takes none of them")
        }
        if result == 1 {
            isDrained = buffers.isRead && openSSL.SSL_has_pending(ssl) == 0
            return .content(count)
        }
        switch openSSL.SSL_get_error(ssl, result) {
        // SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE
        case 2, 3: return .waiting
        // SSL_ERROR_ZERO_RETURN
        case 6: return .end
        default: throw failure(of: result)
        }
    }

    func write(_ content: UnsafeRawBufferPointer) throws -> Int {
        try throwLastFailure()
        openSSL.ERR_clear_error()
        var count = 0
        let result = buffers.writeContent(content.count) {
            openSSL.SSL_write_ex(ssl, content.baseAddress, content.count, &count)
        }
        guard result == 1 else { throw failure(of: result) }
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
            applicationProtocol: chosen, isResumed: isResumed, trust: trust,
            isServerVerified: context.verification == .required)
    }

    private func throwLastFailure() throws {
        if let lastFailure { throw lastFailure }
    }

    private func failure(of result: Int32) -> TLSError {
        let failure = describeFailure(of: result)
        lastFailure = failure
        return failure
    }

    private func describeFailure(of result: Int32) -> TLSError {
        // SSL_ERROR_ZERO_RETURN, where no content was expected yet.
        if openSSL.SSL_get_error(ssl, result) == 6 {
            return TLSError(.refused, reason: "the server has ended the connection during the handshake")
        }
        let errors = OpenSSLErrors.take(openSSL)
        // TLS 1.2: a server that requires a certificate ends the handshake before its verdict could be reported.
        let addition = withheld.map { " – the client's certificate was withheld: \($0)" } ?? ""
        return TLSError(errors.kind, reason: errors.sentence + addition)
    }
}
