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
