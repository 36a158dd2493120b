internal import PurlIO
import Synchronization

/// Names a file's bytes, as many as were announced, to be sent by the system.
final class FileSource: BodySource {
    private struct State {
        var opened: OpenUpload?
        var offset: Int64 = 0
    }

    private let upload: UploadFile
    private let state = Mutex(State())

    init(_ upload: UploadFile) { self.upload = upload }

    func next() throws(BodyFailure) -> BodyPiece {
        try state.withLock { state throws(BodyFailure) in
            let opened = if let opened = state.opened { opened } else { try OpenUpload(upload) }
            state.opened = opened
            let count = Int(min(Int64(FileRegion.limit), upload.length - state.offset))
            // So that sending does not wait for the disk.
            opened.file.prefetch(count, at: state.offset)
            let region = FileRegion(of: opened, at: state.offset, count: count)
            state.offset += Int64(count)
            let isLast = state.offset == upload.length
            if isLast { state.opened = nil }
            return BodyPiece(region: region, content: 0..<count, isLast: isLast)
        }
    }

    func close() {
        state.withLock { $0.opened = nil }
    }
}
