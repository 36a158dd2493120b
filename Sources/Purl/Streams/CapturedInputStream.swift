import Foundation
internal import PurlIO

/// What comes over a connection whose streams were captured.
///
/// Reading waits for bytes, on the thread that reads.
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
