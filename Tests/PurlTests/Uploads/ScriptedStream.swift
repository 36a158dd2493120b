import Foundation
import PurlTesting

/// What was done to a stream.
final class StreamHistory: Sendable {
    private struct State {
        var offset = 0
        var openings = 0
        var closings = 0
    }

    private let state = LoadBox(State())
    private let closed = Signal()

    /// How many bytes have been read.
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

/// A stream that gives a content piece by piece, and does as it was told at the end.
final class ScriptedStream: InputStream {
    enum End: Sendable {
        case end
        case failure
    }

    let history: StreamHistory
    private let content: GeneratedContent
    private let pieces: Int
    private let end: End
    private let stop: (offset: Int, stop: Stop)?
    private let status = LoadBox(Stream.Status.notOpen)

    /// - Parameters:
    ///   - pieces: How many bytes a read gives at most.
    ///   - end: What happens after the content.
    ///   - stop: At that offset reading blocks until the stop is open.
    init(
        _ content: GeneratedContent, inPiecesOf pieces: Int = 1 << 20, then end: End = .end,
        waitingAt stop: (offset: Int, stop: Stop)? = nil, history: StreamHistory = StreamHistory()
    ) {
        self.content = content
        self.pieces = pieces
        self.end = end
        self.stop = stop
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
        if let stop, stop.offset == offset { stop.stop.pass() }
        var limit = min(length, pieces, content.size - offset)
        if let stop, stop.offset > offset { limit = min(limit, stop.offset - offset) }
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
