internal import PurlConnections

/// A program's ``TLSConnection``, as the transport under it uses one.
final class TLSRecords: SecurityConnection {
    private let side: any TLSConnection

    init(_ side: any TLSConnection) {
        self.side = side
    }

    func handshake() throws -> TLSHandshakeResult? {
        switch try side.handshake() {
        case .waiting: nil
        case .done(let result): result
        }
    }

    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer) { side.receiveCiphertext(bytes) }

    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int { side.sendCiphertext(into: buffer) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> SecureRead {
        switch try side.read(into: buffer) {
        case .content(let count): .content(count)
        case .waiting: .waiting
        case .end: .end
        }
    }

    func write(_ content: UnsafeRawBufferPointer) throws -> Int { try side.write(content) }

    func finishWriting() { side.finishWriting() }
}

extension TLSFailure {
    init(_ failure: HandshakeFailure) {
        self =
            switch failure {
            case .library(let error): .library(TLSError(error))
            case .lost(let error): .lost(error)
            }
    }
}

extension TLSError {
    /// The error of a side, which should be one of these.
    init(_ error: any Error) {
        self = error as? TLSError ?? TLSError(.malformed, reason: "\(error)")
    }
}
