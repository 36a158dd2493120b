import Foundation
import Synchronization

/// The file of one ``DownloadItem``, brought up to date by one writer at a time.
final class ItemFile: Sendable {
    private let url: URL
    /// The file's content, as far as this process has written or read it.
    private let saved: Mutex<DownloadItem?>
    private let validity: SchedulerValidity

    init(_ url: URL, holding item: DownloadItem?, validity: SchedulerValidity) {
        self.url = url
        self.validity = validity
        saved = Mutex(item)
    }

    /// The item in the file at `url`; `nil` when there is none, or it is damaged.
    static func read(_ url: URL) -> DownloadItem? {
        guard FileKind(at: url).fileSize != nil, let handle = try? FileHandle(forReadingFrom: url) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: DownloadItem.maximumSize + 1) else { return nil }
        return DownloadItem(decoding: data, fileName: url.lastPathComponent)
    }

    /// Writes an item, unless the file holds it already; `nil` removes the file. After the invalidation nothing is written:
    /// the file belongs to the next manager.
    ///
    /// Failing to write costs the entry in the list after a relaunch, not the download, so it throws nothing.
    ///
    /// - Parameter item: Called with the file locked, so that no older item is written after a newer one.
    func save(_ item: () -> DownloadItem?) {
        saved.withLock { saved in
            guard validity.isValid else { return }
            let new = item()
            guard let new else {
                // Also a damaged one.
                unlink(url.path)
                saved = nil
                return
            }
            guard new != saved else { return }
            saved = new
            write(new)
        }
    }

    /// Returns when nothing is being written.
    func waitForWriter() {
        saved.withLock { _ in }
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
