import Foundation
internal import PurlIO

/// What comes over a connection whose streams were captured.
///
/// Reading waits for bytes, on the thread that reads.
final class CapturedInputStream: InputStream {
    private let side: CapturedSide

    init(_ connection: BlockingSocket, after bytes: [UInt8]) {
        side = CapturedSide(.input, of: connection, after: bytes)
        super.init(data: Data())
        side.listener.stream = self
    }

    override var streamStatus: Stream.Status { side.status }
    override var streamError: (any Error)? { side.error }
    override var hasBytesAvailable: Bool { side.isReady }

    override func open() {
        guard side.open() else { return }
        side.events.tell(side, .openCompleted)
        side.events.arm(for: side)
    }

    override func close() { side.close() }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength len: Int) -> Int {
        guard len > 0 else { return 0 }
        let count = side.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: len))
        if count < 0, side.status == .error { side.events.tell(side, .errorOccurred) }
        if count > 0 { side.events.arm(for: side) }
        return count
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length len: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
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
