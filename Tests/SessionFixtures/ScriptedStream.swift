import Foundation
import PurlTesting

/// The calls of a stream.
final class StreamHistory: Sendable {
    private struct State {
        var offset = 0
        var openings = 0
        var closings = 0
    }

    private let state = LockedValue(State())
    private let closed = Signal()

    /// The number of bytes read.
    var offset: Int { state.withLock { $0.offset } }
    var openings: Int { state.withLock { $0.openings } }
    var closings: Int { state.withLock { $0.closings } }

    func waitUntilClosed() async { await closed.wait() }

    fileprivate func read(_ count: Int) { state.withLock { $0.offset += count } }
    fileprivate func opened() { state.withLock { $0.openings += 1 } }

    fileprivate func wasClosed() {
        state.withLock { $0.closings += 1 }
        closed.set()
    }
}

/// A stream that supplies a content in pieces, and then ends or fails.
final class ScriptedStream: InputStream {
    enum End: Sendable {
        case end
        case failure
    }

    let history: StreamHistory
    private let content: GeneratedContent
    private let pieces: Int
    private let end: End
    private let wait: (offset: Int, barrier: CallBarrier)?
    private let status = LockedValue(Stream.Status.notOpen)

    /// - Parameters:
    ///   - pieces: The most bytes that a read returns.
    ///   - end: What happens after the content.
    ///   - wait: The offset at which reading blocks until the barrier is open.
    init(
        _ content: GeneratedContent, inPiecesOf pieces: Int = 1 << 20, then end: End = .end,
        waitingAt wait: (offset: Int, barrier: CallBarrier)? = nil, history: StreamHistory = StreamHistory()
    ) {
        self.content = content
        self.pieces = pieces
        self.end = end
        self.wait = wait
        self.history = history
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { status.withLock { $0 } }
    override var streamError: (any Error)? { POSIXError(.EIO) }
    override var hasBytesAvailable: Bool { true }

    override func open() {
        status.withLock { $0 = .open }
        history.opened()
    }

    override func close() {
        status.withLock { $0 = .closed }
        history.wasClosed()
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        let offset = history.offset
        if let wait, wait.offset == offset { wait.barrier.pass() }
        var limit = min(length, pieces, content.size - offset)
        if let wait, wait.offset > offset { limit = min(limit, wait.offset - offset) }
        guard limit > 0 else {
            guard end == .failure else { return 0 }
            status.withLock { $0 = .error }
            return -1
        }
        content.bytes(offset..<(offset + limit)).copyBytes(to: buffer, count: limit)
        history.read(limit)
        return limit
    }
}
