internal import PurlIO
import Synchronization

/// What the TLS connections of a server share: its settings as OpenSSL has them.
final class ServerTLSContext: Sendable {
    let openSSL: OpenSSLFunctions
    private let settings: ServerTLS
    // Many threads may use an SSL_CTX, which is not changed after `init`.
    private nonisolated(unsafe) let context: OpenSSLFunctions.Object
    /// The name of the protocol that the server always chooses, where OpenSSL may keep a pointer to it. Empty for none.
    private nonisolated(unsafe) let ownProtocol: UnsafeMutableBufferPointer<UInt8>
    private let connections = Atomic<Int>(0)

    /// - Throws: Where there is no OpenSSL, or none that takes the settings.
    init(_ settings: ServerTLS) throws(TestAuthority.Failure) {
        let openSSL = try TestAuthority.openSSL()
        guard let context = openSSL.sslContextNew(openSSL.serverMethod()) else {
            throw TestAuthority.Failure("TLS cannot be used: \(openSSL.takeErrors())")
        }
        (self.openSSL, self.context, self.settings) = (openSSL, context, settings)
        if case .always(let name) = settings.applicationProtocol {
            ownProtocol = .allocate(capacity: min(name.utf8.count, 255))
            _ = ownProtocol.initialize(from: name.utf8)
        } else {
            ownProtocol = .allocate(capacity: 0)
        }
        // Weak certificates and old versions are what some tests are about.
        openSSL.sslContextSetSecurityLevel(context, 0)
        // Without it a client's certificate keeps its sessions from being resumed.
        let sessionContext = Array("PurlTesting".utf8)
        guard openSSL.control(context, .minimumVersion, Int(settings.minimumVersion.rawValue)) == 1,
            openSSL.control(context, .maximumVersion, Int(settings.maximumVersion.rawValue)) == 1,
            openSSL.sslContextSetSessionIDContext(context, sessionContext, UInt32(sessionContext.count)) == 1
        else {
            throw TestAuthority.Failure("the versions cannot be used: \(openSSL.takeErrors())")
        }
        _ = openSSL.control(context, .mode, OpenSSLConstants.releaseBuffers | OpenSSLConstants.movingWriteBuffer)
        _ = openSSL.sslContextSetOptions(context, OpenSSLConstants.noRenegotiation)
        if !settings.resumesSessions {
            _ = openSSL.sslContextSetOptions(context, OpenSSLConstants.noTicket)
            _ = openSSL.sslContextSetNumberOfTickets(context, 0)
            _ = openSSL.control(context, .sessionCacheMode, OpenSSLConstants.noSessionCache)
        }
        // A certificate that cannot be issued is an error now, and not in each handshake.
        _ = try settings.authority.issue(settings.certificate)
        try askClients()
        // Both callbacks are called within calls for a connection, which keeps its context.
        let owner = Unmanaged.passUnretained(self).toOpaque()
        openSSL.sslContextSetCertificateCallback(context, chooseCertificate, owner)
        switch settings.applicationProtocol {
        case .none: break
        case .firstOffered, .always: openSSL.sslContextSetALPNCallback(context, chooseProtocol, owner)
        }
        // The response is set with the certificate, and sent when there is such a callback.
        openSSL.setStatusCallback(context, acceptStatus)
    }

    deinit {
        openSSL.sslContextFree(context)
        ownProtocol.deallocate()
    }

    /// Makes the server's side of a connection.
    @NetworkActor
    func makeSession() throws(TestAuthority.Failure) -> ServerTLSSession {
        guard let ssl = openSSL.sslNew(context) else {
            throw TestAuthority.Failure("TLS cannot be used: \(openSSL.takeErrors())")
        }
        return try ServerTLSSession(owning: ssl, of: self)
    }

    /// The faults of the next connection, by their phases.
    func nextFaults() -> [ServerTLS.HandshakePhase: ServerTLS.HandshakeFault] {
        let index = connections.wrappingAdd(1, ordering: .relaxed).oldValue
        let settled = settings.faults.compactMap { $0.settled(at: index)?.value }
        return Dictionary(settled.map { ($0.phase, $0.fault) }) { $1 }
    }

    private func askClients() throws(TestAuthority.Failure) {
        let mode: Int32 =
            switch settings.clientCertificate {
            case .notRequested: 0
            case .requested: OpenSSLConstants.verifyPeer
            case .required: OpenSSLConstants.verifyPeer | OpenSSLConstants.failWithoutCertificate
            }
        guard mode != 0 else { return }
        let root = openSSL.certificate(try settings.authority.rootDER)
        defer { openSSL.certificateFree(root) }
        guard let root, let store = openSSL.sslContextCertificateStore(context),
            openSSL.storeAddCertificate(store, root) == 1, openSSL.sslContextAddClientAuthority(context, root) == 1
        else {
            throw TestAuthority.Failure("clients cannot be asked: \(openSSL.takeErrors())")
        }
        openSSL.sslContextSetVerify(context, mode, nil)
    }

    // MARK: What OpenSSL asks

    /// Sets the certificate for the name that the client has asked for.
    ///
    /// - Returns: Whether there is one.
    fileprivate func setCertificate(of ssl: OpenSSLFunctions.Object) -> Bool {
        let name = openSSL.sslServerName(ssl, OpenSSLConstants.hostName).map { String(cString: $0) }
        guard let identity = try? settings.authority.issue(settings.certificate, to: name),
            let chain = openSSL.stackNew()
        else { return false }
        // OpenSSL counts references of its own to what it is given.
        let certificates = identity.certificates.compactMap { openSSL.certificate($0) }
        defer {
            for certificate in certificates { openSSL.certificateFree(certificate) }
            openSSL.stackFree(chain)
        }
        guard let own = certificates.first, certificates.count == identity.certificates.count else { return false }
        for certificate in certificates.dropFirst() { _ = openSSL.stackPush(chain, certificate) }
        guard openSSL.sslUseCertificateAndKey(ssl, own, identity.key.pointer, chain, 1) == 1 else { return false }
        if let status = identity.status { openSSL.staple(status, to: ssl) }
        return true
    }

    /// Chooses a protocol of those that a client offers, each with its length before it.
    fileprivate func chosenProtocol(from offered: UnsafeBufferPointer<UInt8>) -> ProtocolChoice {
        switch settings.applicationProtocol {
        case .none: return .nothing
        case .always: return .name(UnsafeBufferPointer(ownProtocol))
        case .firstOffered(let names):
            for name in names {
                var start = 0
                while start < offered.count {
                    let end = min(start + 1 + Int(offered[start]), offered.count)
                    let candidate = UnsafeBufferPointer(rebasing: offered[start + 1..<end])
                    if candidate.elementsEqual(name.utf8) { return .name(candidate) }
                    start = end
                }
            }
            return .refused
        }
    }

    fileprivate enum ProtocolChoice {
        case nothing
        case refused
        case name(UnsafeBufferPointer<UInt8>)
    }
}

/// 1 when there is a certificate, as `SSL_CTX_set_cert_cb` wants it.
private let chooseCertificate: OpenSSLFunctions.CertificateCallback = { ssl, owner in
    guard let ssl, let owner else { return 0 }
    let context = Unmanaged<ServerTLSContext>.fromOpaque(owner).takeUnretainedValue()
    return context.setCertificate(of: ssl) ? 1 : 0
}

private let chooseProtocol: OpenSSLFunctions.ALPNCallback = { _, chosen, chosenCount, offered, offeredCount, owner in
    guard let chosen, let chosenCount, let offered, let owner else { return OpenSSLConstants.Answer.ignored }
    let context = Unmanaged<ServerTLSContext>.fromOpaque(owner).takeUnretainedValue()
    switch context.chosenProtocol(from: UnsafeBufferPointer(start: offered, count: Int(offeredCount))) {
    case .nothing: return OpenSSLConstants.Answer.ignored
    case .refused: return OpenSSLConstants.Answer.fatal
    case .name(let name):
        chosen.pointee = name.baseAddress
        chosenCount.pointee = UInt8(clamping: name.count)
        return OpenSSLConstants.Answer.accepted
    }
}

private let acceptStatus: OpenSSLFunctions.CertificateCallback = { _, _ in OpenSSLConstants.Answer.accepted }
