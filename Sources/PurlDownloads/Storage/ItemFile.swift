import Foundation
import Synchronization

/// The file of one ``DownloadItem``, brought up to date by one writer at a time.
final class ItemFile: Sendable {
    private enum State: Sendable {
        /// - Parameter item: The file's content, as far as this process has written or read it.
        case open(DownloadItem?)
        /// The file has been removed; from now on it belongs to another download of the same URL.
        case closed
    }

    private let url: URL
    private let state: Mutex<State>
    private let validity: SchedulerValidity

    init(_ url: URL, holding item: DownloadItem?, validity: SchedulerValidity) {
        self.url = url
        self.validity = validity
        state = Mutex(.open(item))
    }

    /// The item in the file at `url`; `nil` when there is none, or it is damaged.
    static func read(_ url: URL) -> DownloadItem? {
        guard FileKind(at: url).fileSize != nil, let handle = try? FileHandle(forReadingFrom: url) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: DownloadItem.maximumSize + 1) else { return nil }
        return DownloadItem(decoding: data, fileName: url.lastPathComponent)
    }

    /// Writes an item, unless the file holds it already. After ``close()`` and after the invalidation nothing is written:
    /// the file belongs to the next download or manager.
    ///
    /// Failing to write costs the entry in the list after a relaunch, not the download, so it throws nothing.
    ///
    /// - Parameter item: Called with the file locked, so that no older item is written after a newer one.
    func save(_ item: () -> DownloadItem) {
        state.withLock { state in
            guard validity.isValid, case .open(let saved) = state else { return }
            let new = item()
            guard new != saved else { return }
            state = .open(new)
            write(new)
        }
    }

    /// Removes the file; this object writes no other.
    func close() {
        state.withLock { state in
            guard validity.isValid, case .open = state else { return }
            state = .closed
            // Also a damaged one.
            unlink(url.path)
        }
    }

    /// Returns when nothing is being written.
    func waitForWriter() {
        state.withLock { _ in }
    }

    /// Writes a new file and renames it, so that a crash leaves the old item or the new one. The new file's leftover is
    /// removed by the next write. A URL may contain a secret, so only the owner can read the file.
    private func write(_ item: DownloadItem) {
        guard let data = try? item.encoded() else { return }
        let new = url.appendingPathExtension("new").path
        unlink(new)
        do {
            let file = try Self.create(new)
            try file.write(contentsOf: data)
            try file.close()
        } catch {
            unlink(new)
            return
        }
        if rename(new, url.path) != 0 { unlink(new) }
    }

    /// Creates the file, and its folder if that is missing.
    private static func create(_ path: String) throws -> FileHandle {
        do {
            return try FileHandle(creatingFileAt: path)
        } catch let error as NSError where error.code == Int(ENOENT) {
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            return try FileHandle(creatingFileAt: path)
        }
    }
}

extension FileHandle {
    /// Creates a file, readable by its owner only, and opens it for writing. Fails when the path exists, also as a link.
    fileprivate convenience init(creatingFileAt path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw NSError(domain: NSPOSIXErrorDomain, code: Int(errno)) }
        self.init(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
