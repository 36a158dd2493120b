internal import PurlHTTP
package import PurlIO
import Synchronization

/// Reads a body piece by piece, without holding up its caller.
package protocol BodyReader: Sendable {
    typealias Completion = @Sendable (Result<BodyPiece, BodyFailure>) -> Void

    /// Reads the next piece, then calls `completion` on any thread. Not to be called again before that, nor after the
    /// last piece or a failure.
    func readNext(then completion: @escaping Completion)

    /// Lets go of what is open, after the read in progress or by ending it. `completion` may still be called.
    func close()
}

/// Reads a source whose calls block, on a queue of its own.
package final class QueueReader: BodyReader {
    private let source: any BodySource
    private let queue: WorkQueue

    package init(_ source: any BodySource, on lane: Worker.Lane) {
        self.source = source
        queue = WorkQueue(on: lane)
    }

    package func readNext(then completion: @escaping Completion) {
        queue.async { [source] in
            completion(Result { () throws(BodyFailure) in try source.next() })
        }
    }

    package func close() {
        queue.async { [source] in source.close() }
    }
}

/// Reads a body piece by piece. The calls block; they are made on one queue, one at a time.
package protocol BodySource: Sendable {
    /// The next piece. After the last one, or a failure, it is not called any more.
    func next() throws(BodyFailure) -> BodyPiece

    /// Lets go of what is open. May be called at any time but during `next`, and more than once.
    func close()
}

/// A part of a body as it goes over the wire: bytes, or a place in a file that the system is to send.
package struct BodyPiece: Sendable {
    /// How many bytes of a body a piece holds at most.
    package static let limit = 256 << 10

    package var wire: [UInt8] = []
    /// In place of `wire`.
    var region: FileRegion?
    /// Where in `wire` the body's own bytes are. The rest is the chunked coding's.
    package var content = 0..<0
    /// The body ends here.
    package var isLast = false

    package init(wire: [UInt8] = [], content: Range<Int> = 0..<0, isLast: Bool = false) {
        self.wire = wire
        self.content = content
        self.isLast = isLast
    }

    init(region: FileRegion, isLast: Bool) {
        self.init(content: 0..<region.count, isLast: isLast)
        self.region = region
    }

    /// How many bytes go over the wire.
    package var length: Int { region?.count ?? wire.count }

    /// Some bytes as one chunk (RFC 9112 §7.1).
    package static func chunk(_ bytes: [UInt8]) -> BodyPiece {
        var piece = BodyPiece()
        ChunkEncoder.appendChunk(bytes.span.bytes, to: &piece.wire)
        let end = piece.wire.count - 2
        piece.content = (end - bytes.count)..<end
        return piece
    }

    /// The chunk that ends a chunked body.
    package static var lastChunk: BodyPiece { BodyPiece(wire: Array("0\r\n\r\n".utf8), isLast: true) }

    /// How many of the body's bytes are among the first `count` of the piece.
    func contentBytes(in count: Int) -> Int {
        min(max(count, content.lowerBound), content.upperBound) - content.lowerBound
    }
}

/// Names a file's bytes, as many as were announced, to be sent by the system.
package final class FileSource: BodySource {
    private struct State {
        var opened: OpenUpload?
        var offset: Int64 = 0
    }

    private let upload: UploadFile
    private let state = Mutex(State())

    package init(_ upload: UploadFile) { self.upload = upload }

    package func next() throws(BodyFailure) -> BodyPiece {
        try state.withLock { state throws(BodyFailure) in
            let opened = if let opened = state.opened { opened } else { try upload.open() }
            state.opened = opened
            let count = Int(min(Int64(FileRegion.limit), upload.length - state.offset))
            // So that sending does not wait for the disk.
            opened.file.prefetch(count, at: upload.offset + state.offset)
            let region = FileRegion(of: opened, at: upload.offset + state.offset, count: count)
            state.offset += Int64(count)
            let isLast = state.offset == upload.length
            if isLast { state.opened = nil }
            return BodyPiece(region: region, isLast: isLast)
        }
    }

    package func close() {
        state.withLock { $0.opened = nil }
    }
}
