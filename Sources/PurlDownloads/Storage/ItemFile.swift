import Foundation
internal import PurlIO
import Synchronization

/// The item of one download on disk, brought up to date by one writer at a time.
final class ItemFile: Sendable {
    let url: URL
    /// What is in the file, as far as this process has written or read it.
    private let saved: Mutex<DownloadItem?>
    private let life: EngineLife

    init(_ url: URL, holding item: DownloadItem?, life: EngineLife) {
        self.url = url
        self.life = life
        saved = Mutex(item)
    }

    /// What the file at `url` says; `nil` for what cannot be used. Reads no more than an item may have.
    static func read(_ url: URL) -> DownloadItem? {
        guard FileKind(at: url).fileSize != nil, let handle = try? FileHandle(forReadingFrom: url) else { return nil }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: DownloadItem.maximumSize + 1) else { return nil }
        return DownloadItem(decoding: data, fileName: url.lastPathComponent)
    }

    /// Writes what `item` says, unless it is there already; `nil` removes the file. The value is asked for once it is
    /// certain that no older one will be written after it. After the manager's end nothing is written: the file
    /// belongs to whoever comes next.
    ///
    /// Failing to write costs the place in the list after a relaunch, not the download, so it is no failure.
    func save(_ item: () -> DownloadItem?) {
        saved.withLock { saved in
            guard life.isValid else { return }
            let fresh = item()
            guard let fresh else {
                // Also one that could not be read.
                unlink(url.path)
                saved = nil
                return
            }
            guard fresh != saved else { return }
            saved = fresh
            write(fresh)
        }
    }

    /// A rename leaves the old item or the new one, never half of one; whatever a crash leaves of the file that is renamed
    /// goes with the next. A URL may hold a secret, so the file is its owner's only.
    private func write(_ item: DownloadItem) {
        guard let data = try? item.encoded() else { return }
        let fresh = url.appendingPathExtension("new").path
        do {
            RegularFile.remove(fresh)
            let file = try Self.create(fresh)
            try data.bytes.withUnsafeBytes { bytes throws(SystemError) in try file.write(bytes, at: 0) }
            try RegularFile.move(fresh, to: url.path)
        } catch {
            RegularFile.remove(fresh)
        }
    }

    /// With its folder, where that is missing.
    private static func create(_ path: String) throws -> RegularFile {
        do {
            return try RegularFile(path, .creating)
        } catch let error where error.code == ENOENT {
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            return try RegularFile(path, .creating)
        }
    }

    /// Returns when nothing is being written.
    func waitForWriter() {
        saved.withLock { _ in }
    }
}
