package import PurlIO

/// This side of a security protocol on one connection, without a socket: takes what arrives, gives what is to be sent.
///
/// There is one call at a time. ``handshake()`` is called on a thread of the worker's, which it may keep as long as its
/// arithmetic takes; everything else on the network thread, where it must not block. After an error it is asked once more for
/// what is to be sent, and then released, on either thread.
package protocol SecurityConnection<Agreement>: AnyObject {
    /// What both sides have agreed upon.
    associatedtype Agreement

    /// Continues the handshake as far as the bytes taken so far allow. Not called again once it has returned an agreement.
    func handshake() throws -> Agreement?

    /// Takes bytes of the other side, all of them.
    func receiveCiphertext(_ bytes: UnsafeRawBufferPointer)

    /// Takes up to the size of `buffer` of the bytes that are to be sent to the other side; 0 when there are none.
    func sendCiphertext(into buffer: UnsafeMutableRawBufferPointer) -> Int

    /// Takes content that the other side has sent, up to the size of `buffer`.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> SecureRead

    /// Takes content to be sent; returns how many bytes were taken, at least one.
    func write(_ content: UnsafeRawBufferPointer) throws -> Int

    /// Ends this side's stream; what tells the other side so is then to be sent.
    func finishWriting()
}

/// What ``SecurityConnection/read(into:)`` has found.
package enum SecureRead {
    case content(Int)
    /// Nothing whole has arrived.
    case waiting
    /// The other side has ended its stream.
    case end
}

/// Why a handshake has failed.
package enum HandshakeFailure: Error {
    case library(any Error)
    /// The connection ended before the handshake was done.
    case lost(SystemError?)
}
