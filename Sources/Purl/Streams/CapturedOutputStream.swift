import Foundation
internal import PurlIO

/// What goes over a connection whose streams were captured.
///
/// Writing waits for room, on the thread that writes.
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

    override func open() {
        guard side.open() else { return }
        side.events.tell(side, .openCompleted)
        side.events.arm(for: side)
    }

    override func close() { side.close() }

    override func write(_ buffer: UnsafePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0 else { return 0 }
        let count = side.write(UnsafeRawBufferPointer(start: buffer, count: len))
        if count < 0, side.status == .error { side.events.tell(side, .errorOccurred) }
        if count > 0 { side.events.arm(for: side) }
        return count
    }

    override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }
    override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool { false }

    override func schedule(in aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.events.schedule(in: aRunLoop, mode: mode)
        if side.status == .open { side.events.arm(for: side) }
    }

    override func remove(from aRunLoop: RunLoop, forMode mode: RunLoop.Mode) {
        side.events.remove(from: aRunLoop, mode: mode)
    }
}
