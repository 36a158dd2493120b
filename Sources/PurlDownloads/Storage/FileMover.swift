import Foundation
import Purl
internal import PurlIO

/// Moves a complete file to its place: by a rename, or through a copy when that is on another file system.
struct FileMover {
    let destination: URL
    private let source: URL
    /// The place of the copy, beside the destination.
    private let copyLocation: URL
    private let files: any FileLayer

    init(_ paths: DownloadPaths, of url: URL) {
        source = paths.unfinished(url).partial
        destination = paths.finished(url)
        copyLocation = paths.copy(url)
        files = paths.files
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
            let copy = try FileCopy(at: copyLocation.path, files)
            do {
                var offset: Int64 = 0
                while offset < size {
                    guard !isStopped() else {
                        copy.discard()
                        return nil
                    }
                    let piece = try sink.bytes(in: offset..<min(size, offset + Self.pieceLength))
                    guard !piece.isEmpty else { throw CocoaError(.fileReadUnknown) }
                    try copy.file.write(piece.bytes, at: offset)
                    offset += Int64(piece.count)
                }
                try copy.file.synchronize()
                return copy
            } catch {
                copy.discard()
                throw error
            }
        } catch {
            throw DownloadFailure(
                .cannotMoveFile, "The file could not be copied to \(copyLocation.path).", error.asUnderlying)
        }
    }

    /// Renames the file, or the copy that was made of it, to the destination, where it outlasts a loss of power.
    ///
    /// - Parameter copy: The copy; `nil` when the source itself is renamed. One is made when that turns out to be impossible:
    ///   two mounts of one file system have the same device.
    func move(_ size: Int64, from sink: DownloadSink, via copy: FileCopy?) throws(DownloadFailure) {
        var copy = copy
        // What has been checked is the open file; what a rename moves is whatever has its name.
        guard copy != nil || sink.isInPlace else {
            throw DownloadFailure(.cannotMoveFile, "\(source.path) was replaced while it was written.")
        }
        do throws(SystemError) {
            if copy == nil {
                try files.move(source.path, to: destination.path)
                return synchronizeName()
            }
        } catch {
            guard error.code == EXDEV else { throw failure(error) }
            copy = try self.copy(size, from: sink, isStopped: { false })
        }
        do throws(SystemError) {
            try files.move(copyLocation.path, to: destination.path)
        } catch {
            copy?.discard()
            throw failure(error)
        }
        synchronizeName()
        if sink.isInPlace { files.remove(source.path) }
    }

    /// A loss of power no longer takes the name back. Where folders cannot be synchronised the file is complete all the same.
    private func synchronizeName() {
        try? files.synchronizeFolder(destination.deletingLastPathComponent().path)
    }

    private func failure(_ error: SystemError) -> DownloadFailure {
        DownloadFailure(.cannotMoveFile, "The file could not be moved to \(destination.path):", errno: error.code)
    }
}

/// The copy of a file, locked as long as it exists: no other copy of the same file is made at its path meanwhile, by a manager
/// with another folder for unfinished files for example.
struct FileCopy {
    let file: any OpenFile
    private let path: String
    private let files: any FileLayer

    /// Creates the file, or empties one that was left behind. Fails when another copy is being made.
    fileprivate init(at path: String, _ files: any FileLayer) throws {
        self.path = path
        self.files = files
        switch files.entry(path) {
        case .link: files.remove(path)
        // Another file's, too.
        case .regular(let file) where file.hasOtherNames: files.remove(path)
        case .missing, .regular, .folder, .device, .pipe, .socket: break
        }
        do throws(LockFailure) {
            file = try files.openLocked(path, .existingOrNewDocument)
        } catch {
            guard error == .taken else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(error.systemError.code)) }
            throw CocoaError(.fileLocking, userInfo: [NSLocalizedDescriptionKey: "Another copy is being made."])
        }
        try file.truncate(to: 0)
    }

    /// Removes the file.
    func discard() { files.remove(path) }
}
