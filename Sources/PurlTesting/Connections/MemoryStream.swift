import Foundation
internal import PurlIO
import Synchronization

/// One end of a connection within the process, which behaves as that of a TCP connection does: with room for so many bytes
/// in either direction, an end of each direction, and resets.
final class MemoryStream: PurlIO.Transport {
    /// How many bytes a direction holds that have not been read.
    static let capacity = 64 << 10

    private let incoming: MemoryPipe
    private let outgoing: MemoryPipe

    private init(incoming: MemoryPipe, outgoing: MemoryPipe) {
        self.incoming = incoming
        self.outgoing = outgoing
    }

    /// Two ends connected to each other.
    static func pair() -> (MemoryStream, MemoryStream) {
        let (there, back) = (MemoryPipe(capacity: capacity), MemoryPipe(capacity: capacity))
        return (MemoryStream(incoming: back, outgoing: there), MemoryStream(incoming: there, outgoing: back))
    }

    func start(_ signal: TransportSignal) {
        incoming.setReader(signal)
        outgoing.setWriter(signal)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? { try incoming.read(into: buffer) }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int { try outgoing.write(bytes) }

    func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws -> Int {
        let count = try outgoing.write(first)
        return count < first.count ? count : count + (try outgoing.write(second))
    }

    func finishWriting() { outgoing.end(.finished) }

    func close() {
        // RFC 9293 §3.10.4 and RFC 2525 §2.17: what was not read resets the connection.
        let hadUnread = incoming.stopReading(refusingAtOnce: false)
        outgoing.end(hadUnread ? .reset : .finished)
    }

    func reset() {
        _ = incoming.stopReading(refusingAtOnce: true)
        outgoing.end(.reset)
    }
}

/// One direction of a connection within the process.
private final class MemoryPipe: Sendable {
    enum End {
        case finished
        case reset
    }

    /// What becomes of bytes that are written.
    private enum Reader {
        case reads
        /// It has left: bytes that are written are lost, and the writer learns it from its next call, as from the reset
        /// that they cause.
        case hasLeft
        case refuses
    }

    private struct State {
        var bytes: [UInt8] = []
        var taken = 0
        var end: End?
        var reader = Reader.reads
        var readerSignal: TransportSignal?
        var writerSignal: TransportSignal?

        var count: Int { bytes.count - taken }
    }

    private let capacity: Int
    private let state = Mutex(State())

    init(capacity: Int) {
        self.capacity = capacity
    }

    func setReader(_ signal: TransportSignal) {
        state.withLock { $0.readerSignal = signal }
    }

    func setWriter(_ signal: TransportSignal) {
        state.withLock { $0.writerSignal = signal }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        let (count, signal) = try state.withLock { state -> (Int?, TransportSignal?) in
            guard state.count > 0 else {
                switch state.end {
                case nil: return (nil, nil)
                case .finished: return (0, nil)
                case .reset: throw POSIXError(.ECONNRESET)
                }
            }
            let wasFull = state.count == capacity
            let count = min(buffer.count, state.count)
            buffer.copyBytes(from: state.bytes[state.taken..<state.taken + count])
            state.taken += count
            if state.count == 0 {
                state.bytes.removeAll(keepingCapacity: true)
                state.taken = 0
            }
            return (count, wasFull ? state.writerSignal : nil)
        }
        signal?.raise(.write)
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        let (count, signal) = try state.withLock { state -> (Int, TransportSignal?) in
            guard state.end == nil else { throw POSIXError(.EPIPE) }
            switch state.reader {
            case .reads: break
            case .hasLeft:
                state.reader = .refuses
                return (bytes.count, nil)
            case .refuses: throw POSIXError(.EPIPE)
            }
            let count = min(bytes.count, capacity - state.count)
            if state.bytes.count + count > 2 * capacity {
                state.bytes.removeFirst(state.taken)
                state.taken = 0
            }
            state.bytes.append(contentsOf: bytes[..<count])
            return (count, count > 0 ? state.readerSignal : nil)
        }
        signal?.raise(.read)
        return count
    }

    /// Nothing is written any more. The reader learns of it when it has read the rest.
    func end(_ end: End) {
        let signal = state.withLock { state in
            if state.end != .reset { state.end = end }
            return state.readerSignal
        }
        signal?.raise(.read)
    }

    /// Nothing is read any more. Returns whether there was something left.
    func stopReading(refusingAtOnce: Bool) -> Bool {
        let (hadUnread, signal) = state.withLock { state in
            let hadUnread = state.count > 0
            state.bytes = []
            state.taken = 0
            state.reader = refusingAtOnce || hadUnread ? .refuses : .hasLeft
            return (hadUnread, state.writerSignal)
        }
        signal?.raise(.write)
        return hadUnread
    }
}
