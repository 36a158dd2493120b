import Foundation

/// Moves a complete file to its place: by a rename, or through a copy when that is on another file system.
struct FileMover {
    let source: URL
    let destination: URL

    init(from source: URL, to destination: URL) {
        self.source = source
        self.destination = destination
    }

    private static let pieceLength: Int64 = 1 << 20

    /// Whether the two folders are on different devices, so that a rename is impossible.
    var crossesFileSystems: Bool {
        let devices = [source, destination].map { url in
            var status = stat()
            return stat(url.deletingLastPathComponent().path, &status) == 0 ? status.st_dev : 0
        }
        return devices[0] != devices[1]
    }

    /// Copies the sink's `size` bytes to `copy`; they are safe on disk when it returns. False when it was stopped meanwhile.
    func copy(
        _ size: Int64, from sink: DownloadSink, to copy: URL, isStopped: () -> Bool
    ) throws(DownloadFailure) -> Bool {
        do {
            unlink(copy.path)
            let file = try FileHandle(creatingFileAt: copy.path)
            var offset: Int64 = 0
            while offset < size {
                guard !isStopped() else {
                    unlink(copy.path)
                    return false
                }
                let piece = try sink.bytes(in: offset..<min(size, offset + Self.pieceLength))
                guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
                try file.write(contentsOf: piece)
                offset += Int64(piece.count)
            }
            try file.synchronize()
            try file.close()
            return true
        } catch {
            unlink(copy.path)
            throw DownloadFailure(.cannotMoveFile, "The file could not be copied to \(copy.path).", error)
        }
    }

    /// Renames the file, or the copy that was made of it, to the destination.
    ///
    /// - Parameters:
    ///   - copy: The copy; `nil` when the source itself is renamed.
    ///   - fallback: Where to copy to when the rename turns out to be impossible: two mounts of one file system have the
    ///     same device.
    func move(
        _ size: Int64, from sink: DownloadSink, viaCopy copy: URL?, fallback: URL
    ) throws(DownloadFailure) {
        if let copy {
            guard rename(copy.path, destination.path) == 0 else {
                let code = errno
                unlink(copy.path)
                throw failure(code)
            }
            unlink(source.path)
        } else if rename(source.path, destination.path) != 0 {
            guard errno == EXDEV else { throw failure(errno) }
            _ = try self.copy(size, from: sink, to: fallback, isStopped: { false })
            try move(size, from: sink, viaCopy: fallback, fallback: fallback)
        }
    }

    private func failure(_ code: Int32) -> DownloadFailure {
        DownloadFailure(.cannotMoveFile, "The file could not be moved to \(destination.path):", errno: code)
    }
}

extension FileHandle {
    /// Creates a file, readable by its owner only, and opens it for writing. Fails when the path exists, also as a link.
    convenience init(creatingFileAt path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
