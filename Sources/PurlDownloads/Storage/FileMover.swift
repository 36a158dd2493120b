import Foundation
internal import PurlIO

/// Brings a finished file to its place: by a rename, or through a copy when that is on another file system.
struct FileMover {
    let source: URL
    let destination: URL

    init(from source: URL, to destination: URL) {
        self.source = source
        self.destination = destination
    }

    private static let pieceLength: Int64 = 1 << 20

    /// Whether a rename cannot do it.
    var crossesFileSystems: Bool {
        let devices = [source, destination].map { url in
            var status = stat()
            return stat(url.deletingLastPathComponent().path, &status) == 0 ? status.st_dev : 0
        }
        return devices[0] != devices[1]
    }

    /// Copies the sink's `size` bytes to `copy`, safe on disk when it returns. False when it was stopped meanwhile.
    func copy(
        _ size: Int64, to copy: URL, from sink: DownloadSink, isStopped: () -> Bool
    ) throws(DownloadFailure) -> Bool {
        do {
            RegularFile.remove(copy.path)
            let file = try RegularFile(copy.path, .creating)
            var offset: Int64 = 0
            while offset < size {
                guard !isStopped() else {
                    unlink(copy.path)
                    return false
                }
                let piece = try sink.bytes(in: offset..<min(size, offset + Self.pieceLength))
                guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
                try piece.bytes.withUnsafeBytes { bytes throws(SystemError) in try file.write(bytes, at: offset) }
                offset += Int64(piece.count)
            }
            try file.synchronize()
            return true
        } catch {
            unlink(copy.path)
            throw DownloadFailure(.cannotMoveFile, "The file could not be copied to \(copy.path).", error)
        }
    }

    /// Puts the file, or the copy that was made of it, where it belongs.
    ///
    /// - Parameter spare: Where to copy to when the rename turns out not to be possible after all: two mounts of one
    ///   file system look like one.
    func place(_ size: Int64, by copy: URL?, spare: URL, from sink: DownloadSink) throws(DownloadFailure) {
        if let copy {
            guard rename(copy.path, destination.path) == 0 else {
                let code = errno
                unlink(copy.path)
                throw failure(code)
            }
            unlink(source.path)
        } else if rename(source.path, destination.path) != 0 {
            guard errno == EXDEV else { throw failure(errno) }
            _ = try self.copy(size, to: spare, from: sink, isStopped: { false })
            try place(size, by: spare, spare: spare, from: sink)
        }
    }

    private func failure(_ code: Int32) -> DownloadFailure {
        DownloadFailure(.cannotMoveFile, "The file could not be moved to \(destination.path):", errno: code)
    }
}
