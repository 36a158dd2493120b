import Foundation
internal import PurlIO
import Synchronization

/// The input of a connection whose streams were captured. Reading waits for bytes, on the thread that reads.
final class CapturedInputStream: InputStream {
    private let side: CapturedSide

    init(_ connection: BlockingSocket, after bytes: [UInt8], hasEnded: Bool) {
        side = CapturedSide(.input, of: connection, after: bytes, hasEnded: hasEnded)
        super.init(data: Data())
        side.listener.stream = self
    }

    override var streamStatus: Stream.Status { side.status }
    override var streamError: (any Error)? { side.error }
    override var hasBytesAvailable: Bool { side.isReady }

    override func open() { side.open() }
    override func close() { side.close() }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        side.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: max(0, len)))
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.schedule(in: aRunLoop, mode: mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.events.remove(from: aRunLoop, mode: mode)
    }
}

/// The output of a connection whose streams were captured. Writing waits for room, on the thread that writes.
final class CapturedOutputStream: OutputStream {
    private let side: CapturedSide

    init(_ connection: BlockingSocket) {
        side = CapturedSide(.output, of: connection)
        super.init(toMemory: ())
        side.listener.stream = self
    }

    /// A stream over no connection, which is closed: every stream can be asked for one of its class.
    required init(toMemory: ()) {
        side = CapturedSide(.output, of: nil)
        super.init(toMemory: ())
    }

    override var streamStatus: Stream.Status { side.status }
    override var streamError: (any Error)? { side.error }
    override var hasSpaceAvailable: Bool { side.isReady }

    override func open() { side.open() }
    override func close() { side.close() }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        side.write(UnsafeRawBufferPointer(start: buffer, count: max(0, len)))
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.schedule(in: aRunLoop, mode: mode)
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.events.remove(from: aRunLoop, mode: mode)
    }
}

/// One direction of a connection that was captured: what its stream has in common with the other's.
final class CapturedSide: Sendable {
    enum Direction: Sendable {
        case input
        case output
    }

    /// Calls the stream's delegate. `@unchecked Sendable`: the stream is set before it is used, and is used on the thread of
    /// its run loop alone, as its delegate is.
    final class Listener: @unchecked Sendable {
        fileprivate(set) weak var stream: Stream?

        func report(_ event: Stream.Event) {
            if let stream { stream.delegate?.stream(stream, handle: event) }
        }
    }

    private struct State {
        var status = Stream.Status.notOpen
        var error: POSIXError?
        var connection: BlockingSocket?
        /// What had arrived before the connection was captured, from `taken` on.
        var bytes: [UInt8]
        var taken = 0
        /// Reading was closed before the connection was captured.
        let hasEnded: Bool
    }

    let direction: Direction
    let events: StreamEvents
    let listener = Listener()
    private let state: Mutex<State>

    /// - Parameters:
    ///   - connection: Shared with the other direction, and closed when neither has it any more.
    ///   - bytes: What is read before anything else is received.
    ///   - hasEnded: The direction is at its end as soon as it is opened.
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

    /// Bytes that had arrived before are still here.
    var hasBytes: Bool { state.withLock { $0.taken < $0.bytes.count } }

    func open() {
        let status: Stream.Status? = state.withLock { state in
            guard state.status == .notOpen else { return nil }
            state.status = state.hasEnded ? .atEnd : .open
            return state.status
        }
        guard let status else { return }
        events.report(self, .openCompleted)
        if status == .open { events.arm(for: self) } else { events.report(self, .endEncountered) }
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
        return reporting(receive(into: buffer))
    }

    /// Waits for room; -1 when the stream is not open or the connection broken.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        return reporting(move { connection throws(SystemError) in try connection.send(bytes) })
    }

    /// Reports what follows from a count of bytes moved to the delegate.
    private func reporting(_ count: Int) -> Int {
        if count < 0, status == .error { events.report(self, .errorOccurred) }
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
