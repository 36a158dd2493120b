@testable import PurlIO

/// A handler that counts its calls and runs what a test gives it.
@NetworkActor final class Recorder: TransportHandler {
    var readable = 0
    var writable = 0
    var onReadable: (@NetworkActor (any LoopTransport) -> Void)?
    var onWritable: (@NetworkActor (any LoopTransport) -> Void)?

    func transportIsReadable(_ transport: any LoopTransport) {
        readable += 1
        onReadable?(transport)
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        writable += 1
        onWritable?(transport)
    }
}

extension LoopTransport {
    /// Sends text, as much as there is room for.
    @discardableResult
    func send(_ text: String) throws(SystemError) -> Int {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try send(bytes) }
        }
        return try result.get()
    }

    /// Takes what has arrived, at most 64 KiB; `nil` when nothing has, empty at the end of the stream.
    func receive() throws(SystemError) -> String? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { buffer.deallocate() }
        guard let count = try receive(into: buffer) else { return nil }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
