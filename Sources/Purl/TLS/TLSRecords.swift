internal import PurlConnections

/// A session of a program's TLS provider, as a connection uses it.
final class TLSRecords: SecuritySession {
    private let session: any TLSSession

    init(_ session: any TLSSession) {
        self.session = session
    }

    func handshake() throws -> TLSHandshakeResult? {
        switch try session.handshake() {
        case .waiting: nil
        case .done(let result): result
        }
    }

    func receive(_ ciphertext: UnsafeRawBufferPointer) { session.receive(ciphertext) }

    func takeCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int { session.takeCiphertext(into: buffer) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> SecureRead {
        switch try session.read(into: buffer) {
        case .content(let count): .content(count)
        case .waiting: .waiting
        case .end: .end
        }
    }

    func write(_ content: UnsafeRawBufferPointer) throws -> Int { try session.write(content) }

    func finishWriting() { session.finishWriting() }
}

extension TLSFailure {
    init(_ failure: HandshakeFailure) {
        self =
            switch failure {
            case .session(let error): .session(TLSError(error))
            case .lost(let error): .lost(error)
            }
    }
}

extension TLSError {
    /// The error of a session, which should be one of these.
    init(_ error: any Error) {
        self = error as? TLSError ?? TLSError(.malformed, reason: "\(error)")
    }
}
