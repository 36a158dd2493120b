import Foundation

/// Moves a complete file to its place: by a rename, or through a copy when that is on another file system.
struct FileMover {
    let source: URL
    let destination: URL
    /// The place of the copy, beside the destination.
    private let copyLocation: URL

    init(from source: URL, to destination: URL, copyAt copyLocation: URL) {
        self.source = source
        self.destination = destination
        self.copyLocation = copyLocation
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

    /// Copies the sink's `size` bytes; they are safe on disk when it returns. `nil` when it was stopped meanwhile.
    func copy(
        _ size: Int64, from sink: DownloadSink, isStopped: () -> Bool
    ) throws(DownloadFailure) -> FileCopy? {
        do {
            let copy = try FileCopy(at: copyLocation)
            do {
                var offset: Int64 = 0
                while offset < size {
                    guard !isStopped() else {
                        copy.discard()
                        return nil
                    }
                    let piece = try sink.bytes(in: offset..<min(size, offset + Self.pieceLength))
                    guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
                    try copy.file.write(contentsOf: piece)
                    offset += Int64(piece.count)
                }
                try copy.file.synchronize()
                return copy
            } catch {
                copy.discard()
                throw error
            }
        } catch {
            throw DownloadFailure(.cannotMoveFile, "The file could not be copied to \(copyLocation.path).", error)
        }
    }

    /// Renames the file, or the copy that was made of it, to the destination.
    ///
    /// - Parameter copy: The copy; `nil` when the source itself is renamed. One is made when that turns out to be impossible:
    ///   two mounts of one file system have the same device.
    func move(_ size: Int64, from sink: DownloadSink, via copy: FileCopy?) throws(DownloadFailure) {
        var copy = copy
        if copy == nil {
            if rename(source.path, destination.path) == 0 { return }
            guard errno == EXDEV else { throw failure(errno) }
            copy = try self.copy(size, from: sink, isStopped: { false })
        }
        guard rename(copyLocation.path, destination.path) == 0 else {
            let code = errno
            copy?.discard()
            throw failure(code)
        }
        unlink(source.path)
    }

    private func failure(_ code: Int32) -> DownloadFailure {
        DownloadFailure(.cannotMoveFile, "The file could not be moved to \(destination.path):", errno: code)
    }
}

/// The copy of a file, locked as long as it exists: no other copy of the same file is made at its path meanwhile, by a manager
/// with another folder for unfinished files for example.
struct FileCopy {
    let file: FileHandle
    private let path: String

    /// Creates the file, or empties one that was left behind. Fails when another copy is being made.
    init(at url: URL) throws {
        path = url.path
        if FileKind(at: url) == .link { unlink(path) }
        while true {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                throw CocoaError(.fileLocking, userInfo: [NSLocalizedDescriptionKey: "Another copy is being made."])
            }
            // The file may have been renamed or removed before it was locked.
            guard file.isFound(at: url) else { continue }
            try file.truncate(atOffset: 0)
            self.file = file
            return
        }
    }

    /// Removes the file.
    func discard() { unlink(path) }
}
