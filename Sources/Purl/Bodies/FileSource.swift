internal import PurlIO
import Synchronization

/// Reads a file's bytes, as many as were announced.
final class FileSource: BodySource {
    private struct State {
        var opened: Opened?
        var offset: Int64 = 0
    }

    private final class Opened: Sendable {
        let file: RegularFile

        init(_ file: consuming RegularFile) { self.file = file }
    }

    private let upload: UploadFile
    private let state = Mutex(State())

    init(_ upload: UploadFile) { self.upload = upload }

    func next() throws(BodyFailure) -> BodyPiece {
        try state.withLock { state throws(BodyFailure) in
            let opened = if let opened = state.opened { opened } else { Opened(try upload.open()) }
            state.opened = opened
            let count = Int(min(Int64(BodyPiece.limit), upload.length - state.offset))
            let bytes = try read(count, of: opened, at: state.offset)
            state.offset += Int64(count)
            let isLast = state.offset == upload.length
            if isLast { state.opened = nil }
            return BodyPiece(wire: bytes, content: 0..<count, isLast: isLast)
        }
    }

    func close() {
        state.withLock { $0.opened = nil }
    }

    private func read(_ count: Int, of opened: Opened, at offset: Int64) throws(BodyFailure) -> [UInt8] {
        // Also because an array without capacity is one that all threads share.
        guard count > 0 else { return [] }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, length throws(SystemError) in
                length = try opened.file.read(into: UnsafeMutableRawBufferPointer(buffer), at: offset)
            }
        } catch {
            throw .file(upload.url, error)
        }
        // The file was cut while it was being sent.
        guard bytes.count == count else { throw .fileChanged(upload.url) }
        return bytes
    }
}
