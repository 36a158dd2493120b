import Foundation
internal import PurlIO
import Synchronization

/// One direction of a connection that was captured: what its stream has in common with the other's.
final class CapturedSide: Sendable {
    enum Direction: Sendable {
        case input
        case output
    }

    /// Whom the stream tells. `@unchecked Sendable`: the stream is set before anybody can know of it, and is used on the
    /// thread of its run loop alone, as its delegate is.
    final class Listener: @unchecked Sendable {
        weak var stream: Stream?

        func tell(_ event: Stream.Event) {
            if let stream { stream.delegate?.stream(stream, handle: event) }
        }
    }

    private struct State {
        var status = Stream.Status.notOpen
        var error: POSIXError?
        var connection: BlockingSocket?
        /// What had come before the connection was captured, from `taken` on.
        var bytes: [UInt8]
        var taken = 0
        /// It was closed before the connection was captured.
        let hasEnded: Bool
    }

    let direction: Direction
    let events: StreamEvents
    let listener = Listener()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - connection: Shared with the other direction, and closed when neither has it any more.
    ///   - bytes: What comes before anything else is received.
    ///   - hasEnded: Nothing comes: the direction is at its end as soon as it is opened.
    init(
        _ direction: Direction, of connection: BlockingSocket?, after bytes: [UInt8] = [], hasEnded: Bool = false
    ) {
        self.direction = direction
        events = StreamEvents(connection, direction)
        state = Mutex(
            State(
                status: connection == nil ? .closed : .notOpen, connection: connection, bytes: bytes, hasEnded: hasEnded
            ))
    }

    var status: Stream.Status { state.withLock { $0.status } }
    var error: POSIXError? { state.withLock { $0.error } }

    /// Reading or writing would not wait.
    var isReady: Bool {
        let (connection, hasBytes) = state.withLock { state in
            (state.status == .open ? state.connection : nil, state.taken < state.bytes.count)
        }
        guard let connection else { return false }
        switch direction {
        case .input: return hasBytes || connection.isReadable
        case .output: return connection.isWritable
        }
    }

    /// Bytes lie here already.
    var hasBytes: Bool { state.withLock { $0.taken < $0.bytes.count } }

    func open() {
        let status: Stream.Status? = state.withLock { state in
            guard state.status == .notOpen else { return nil }
            state.status = state.hasEnded ? .atEnd : .open
            return state.status
        }
        guard let status else { return }
        events.tell(self, .openCompleted)
        if status == .open { events.arm(for: self) } else { events.tell(self, .endEncountered) }
    }

    func schedule(in loop: RunLoop, mode: RunLoop.Mode) {
        events.schedule(in: loop, mode: mode)
        if status == .open { events.arm(for: self) }
    }

    /// Ends the direction, and whatever waits in it.
    func close() {
        events.stop()
        let connection = state.withLock { state in
            defer {
                state.status = .closed
                state.connection = nil
                state.bytes = []
                state.taken = 0
            }
            return state.connection
        }
        switch direction {
        case .input: connection?.shutdownRead()
        case .output: connection?.shutdownWrite()
        }
    }

    /// Waits for bytes; 0 at the end, -1 when the stream is not open or the connection broken.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard !buffer.isEmpty else { return 0 }
        return noting(receive(into: buffer))
    }

    /// Waits for room; -1 when the stream is not open or the connection broken.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        return noting(move { connection throws(SystemError) in try connection.send(bytes) })
    }

    /// What follows from a count of bytes moved is told.
    private func noting(_ count: Int) -> Int {
        if count < 0, status == .error { events.tell(self, .errorOccurred) }
        if count > 0 { events.arm(for: self) }
        return count
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let held = state.withLock { state -> Int in
            guard state.status == .open else { return 0 }
            let count = min(buffer.count, state.bytes.count - state.taken)
            buffer.copyBytes(from: state.bytes[state.taken..<state.taken + count])
            state.taken += count
            if state.taken == state.bytes.count {
                state.bytes = []
                state.taken = 0
            }
            return count
        }
        if held > 0 { return held }
        return move { connection throws(SystemError) in try connection.receive(into: buffer) }
    }

    private func move(_ work: (BlockingSocket) throws(SystemError) -> Int) -> Int {
        let (status, current) = state.withLock { ($0.status, $0.connection) }
        guard status == .open, let current else { return status == .atEnd ? 0 : -1 }
        do throws(SystemError) {
            let count = try work(current)
            if count == 0, direction == .input { end(.atEnd, nil) }
            return count
        } catch {
            end(.error, POSIXError(POSIXErrorCode(rawValue: error.code) ?? .EIO))
            return -1
        }
    }

    /// Not once it has been closed.
    private func end(_ status: Stream.Status, _ error: POSIXError?) {
        state.withLock { state in
            guard state.status == .open else { return }
            state.status = status
            state.error = error
        }
    }
}
