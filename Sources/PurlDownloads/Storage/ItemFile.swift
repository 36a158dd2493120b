import Foundation
internal import PurlIO
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
    private let files: any FileLayer
    private let state: Mutex<State>
    private let validity: SchedulerValidity

    init(_ url: URL, holding item: DownloadItem?, validity: SchedulerValidity, through files: any FileLayer) {
        self.url = url
        self.files = files
        self.validity = validity
        state = Mutex(.open(item))
    }

    /// The item in the file at `url`; `nil` when there is none, or it is damaged.
    static func read(_ url: URL, through files: any FileLayer = SystemFiles()) -> DownloadItem? {
        guard let bytes = try? files.readRecord(url.path, upTo: DownloadItem.maximumSize + 1) else { return nil }
        let name = url.deletingPathExtension().appendingPathExtension(DownloadPaths.itemType).lastPathComponent
        return DownloadItem(decoding: Data(bytes), fileName: name)
    }

    /// Writes an item, unless the file holds it already. After ``close(leaving:)`` and after the invalidation nothing is written:
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
    ///
    /// - Parameter mark: Where the item goes instead, until the download's bytes are deleted: a manager finishes what a process
    ///   that is killed meanwhile leaves. `nil` if there is nothing to delete. Called with the file locked.
    func close(leaving mark: () -> URL?) {
        state.withLock { state in
            guard validity.isValid, case .open = state else { return }
            state = .closed
            if let mark = mark() { try? files.move(url.path, to: mark.path) }
            // Also a damaged one, and what a process was writing when it was killed.
            files.remove(files.successor(of: url.path))
            files.remove(url.path)
        }
    }

    /// Calls `body` when nothing is being written: before or after the file is closed, never meanwhile.
    func betweenWrites<Value>(_ body: () -> Value) -> Value {
        state.withLock { _ in body() }
    }

    /// Writes a new file and renames it, so that a crash leaves the old item or the new one. A URL may contain a secret, so only
    /// the owner can read the file.
    private func write(_ item: DownloadItem) {
        guard let data = try? item.encoded() else { return }
        do throws(SystemError) {
            try files.replace(url.path, with: data.bytes, survivesPowerLoss: false)
        } catch {
            guard error.code == ENOENT else { return }
            try? FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            try? files.replace(url.path, with: data.bytes, survivesPowerLoss: false)
        }
    }
}
