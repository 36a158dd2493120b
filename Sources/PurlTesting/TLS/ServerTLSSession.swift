internal import PurlIO

/// The server's side of TLS on one connection: an `SSL` between two buffers in memory.
@NetworkActor
final class ServerTLSSession {
    /// How far a call has come.
    enum Step<Result> {
        /// It continues with what the client sends.
        case waiting
        case done(Result)
        /// For this reason, in OpenSSL's words.
        case failed(String)
    }

    /// What a client has sent.
    enum Received {
        case content(Int)
        /// `close_notify`.
        case end
    }

    private static let portion = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)

    // Freed when nothing refers to this any more; used on the network thread before.
    private nonisolated(unsafe) let ssl: OpenSSLFunctions.Object
    /// What has arrived and OpenSSL has not read.
    private let incoming: OpenSSLFunctions.Object
    /// What OpenSSL has written and was not taken.
    private let outgoing: OpenSSLFunctions.Object
    private let openSSL: OpenSSLFunctions
    /// The callbacks of OpenSSL refer to it.
    private let context: ServerTLSContext

    /// Takes over a new `SSL`.
    init(owning ssl: OpenSSLFunctions.Object, of context: ServerTLSContext) throws(TestAuthority.Failure) {
        let openSSL = context.openSSL
        let incoming = openSSL.bioNew(openSSL.memoryBIOMethod())
        let outgoing = openSSL.bioNew(openSSL.memoryBIOMethod())
        guard let incoming, let outgoing else {
            _ = openSSL.bioFree(incoming)
            _ = openSSL.bioFree(outgoing)
            openSSL.sslFree(ssl)
            throw TestAuthority.Failure("TLS cannot be used: \(openSSL.takeErrors())")
        }
        (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        (self.openSSL, self.context) = (openSSL, context)
        // From here on they are freed with it.
        openSSL.sslSetBIO(ssl, incoming, outgoing)
        openSSL.sslSetAcceptState(ssl)
    }

    deinit {
        openSSL.sslFree(ssl)
    }

    /// Takes what has arrived, all of it.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        var taken = 0
        _ = openSSL.bioWrite(incoming, bytes.baseAddress, bytes.count, &taken)
    }

    /// Adds what is to be sent to `bytes`.
    func takeOutput(into bytes: inout [UInt8]) {
        let portion = Self.portion
        while true {
            var count = 0
            guard openSSL.bioRead(outgoing, portion.baseAddress, portion.count, &count) == 1, count > 0 else { return }
            bytes.append(contentsOf: portion[..<count])
        }
    }

    /// Continues the handshake as far as what has arrived allows.
    func handshake() -> Step<Void> {
        openSSL.errClearError()
        let result = openSSL.sslDoHandshake(ssl)
        return result == 1 ? .done(()) : interruption(result)
    }

    /// What the handshake has agreed upon.
    func agreement(of connection: Int) -> ReceivedHandshake {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        openSSL.sslSelectedALPN(ssl, &name, &length)
        let chosen = name.map { String(decoding: UnsafeBufferPointer(start: $0, count: Int(length)), as: UTF8.self) }
        return ReceivedHandshake(
            connection: connection, version: openSSL.sslVersion(ssl).map { String(cString: $0) } ?? "",
            cipherSuite: openSSL.cipherName(openSSL.sslCurrentCipher(ssl)).map { String(cString: $0) } ?? "",
            serverName: openSSL.sslServerName(ssl, OpenSSLConstants.hostName).map { String(cString: $0) },
            applicationProtocol: chosen, clientName: clientName, isResumed: openSSL.sslSessionReused(ssl) == 1)
    }

    private var clientName: String? {
        guard let certificate = openSSL.sslPeerCertificate(ssl) else { return nil }
        defer { openSSL.certificateFree(certificate) }
        var text = [CChar](repeating: 0, count: 256)
        guard let name = openSSL.subjectName(certificate),
            openSSL.nameText(name, OpenSSLConstants.commonName, &text, Int32(text.count)) >= 0
        else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Takes content that the client has sent, up to the size of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Step<Received> {
        openSSL.errClearError()
        var count = 0
        let result = openSSL.sslRead(ssl, buffer.baseAddress, buffer.count, &count)
        if result == 1 { return .done(.content(count)) }
        return openSSL.sslGetError(ssl, result) == OpenSSLConstants.Outcome.end ? .done(.end) : interruption(result)
    }

    /// Encrypts content, all of it.
    func write(_ content: UnsafeRawBufferPointer) -> Step<Void> {
        openSSL.errClearError()
        var count = 0
        let result = openSSL.sslWrite(ssl, content.baseAddress, content.count, &count)
        return result == 1 ? .done(()) : interruption(result)
    }

    /// Ends this side's stream with `close_notify`.
    func finishWriting() {
        openSSL.errClearError()
        _ = openSSL.sslShutdown(ssl)
        openSSL.errClearError()
    }

    private func interruption<Result>(_ result: Int32) -> Step<Result> {
        switch openSSL.sslGetError(ssl, result) {
        case OpenSSLConstants.Outcome.wantRead, OpenSSLConstants.Outcome.wantWrite: .waiting
        default: .failed(openSSL.takeErrors())
        }
    }
}
