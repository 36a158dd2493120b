@testable import PurlIO

/// A handler that does what a test says, and counts.
@NetworkActor final class Recorder: StreamSocketHandler {
    var readable = 0
    var writable = 0
    var onReadable: (@NetworkActor (StreamSocket) -> Void)?
    var onWritable: (@NetworkActor (StreamSocket) -> Void)?

    func socketIsReadable(_ socket: StreamSocket) {
        readable += 1
        onReadable?(socket)
    }

    func socketIsWritable(_ socket: StreamSocket) {
        writable += 1
        onWritable?(socket)
    }
}

extension StreamSocket {
    /// Sends text, as much as there is room for.
    @discardableResult
    func send(_ text: String) throws(SystemError) -> Int {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try send(bytes) }
        }
        return try result.get()
    }

    /// What has arrived, at most 64 KiB of it; nil when nothing has, empty at the end of the stream.
    func receive() throws(SystemError) -> String? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
        defer { buffer.deallocate() }
        guard let count = try receive(into: buffer) else { return nil }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
