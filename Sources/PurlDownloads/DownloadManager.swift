import Foundation
import Synchronization

/// Downloads many files: each URL once, a limited number at a time, remembered across processes.
///
/// ```swift
/// let manager = DownloadManager(configuration: DownloadConfiguration())
/// manager.resumeAll()                                   // what an earlier process left
/// let file = try await manager.download(url).file()
/// ```
///
/// All methods can be called from any thread. Keep a reference to the manager for as long as its downloads run: when it is
/// released, it is invalidated.
public final class DownloadManager: Sendable {
    private let scheduler: DownloadScheduler
    private let list = DownloadList()

    /// Creates a manager and reads the list of unfinished downloads from disk. No request is made.
    ///
    /// Downloads that were waiting or being downloaded are waiting again, paused ones paused, cancelled ones failed, until
    /// ``resumeAll()``, ``Downloader/resume()`` or ``download(_:sha256:)`` starts them.
    ///
    /// - Parameter configuration: Where files are kept, how many downloads run at a time, and how requests are made.
    public init(configuration: DownloadConfiguration) {
        scheduler = DownloadScheduler(configuration)
        for item in Self.items(in: scheduler.paths) {
            let downloader = Downloader(
                item.url, sha256: nil, item: item, order: item.order, scheduler: scheduler, list: list)
            list.add(downloader, order: item.order)
        }
    }

    deinit {
        invalidate()
    }

    /// The items on disk whose downloads are not finished, in order. Other files are skipped.
    private static func items(in paths: DownloadPaths) -> [DownloadItem] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: paths.unfinishedDirectory.path)) ?? []
        let items = names.filter { $0.hasSuffix(".\(DownloadPaths.itemType)") }.sorted().compactMap { name in
            ItemFile.read(paths.unfinishedDirectory.appendingPathComponent(name, isDirectory: false))
        }
        let unfinished = items.filter { item in
            guard item.sha256 == nil, FileKind(at: paths.finished(item.url)).fileSize != nil else { return true }
            // The process ended just after the file had been moved.
            unlink(paths.item(item.url).path)
            return false
        }
        // Equal numbers keep the order of the names, since the sort is stable.
        return unfinished.sorted { $0.order < $1.order }
    }

    /// The unfinished downloads, failed ones included, in the order in which they were added.
    public var downloads: [Downloader] { list.downloads }

    /// Starts a download: it is transferred as soon as there is a slot. The same URL is always the same download; one that is
    /// paused, has failed or was left by an earlier process is resumed.
    ///
    /// When the finished file exists already, the download finishes at once without a request.
    ///
    /// - Parameters:
    ///   - url: The resource.
    ///   - sha256: The digest that the file must have, 64 hexadecimal digits. Without it the server's digest is checked,
    ///     if it sends one.
    @discardableResult
    public func download(_ url: URL, sha256: String? = nil) -> Downloader {
        let downloader = list.downloader(for: url) ?? add(url)
        if let sha256 { downloader.expect(sha256) }
        downloader.start()
        return downloader
    }

    private func add(_ url: URL) -> Downloader {
        let order = list.nextOrder()
        // Another manager of the same folders may have left an item meanwhile.
        let item = ItemFile.read(scheduler.paths.item(url))
        let downloader = Downloader(url, sha256: nil, item: item, order: order, scheduler: scheduler, list: list)
        return list.add(downloader, order: order)
    }

    /// The unfinished download of `url`.
    ///
    /// - Parameter url: The URL that the download was started with.
    public func downloader(for url: URL) -> Downloader? { list.downloader(for: url) }

    /// The finished file of `url`, if it exists.
    ///
    /// - Parameter url: The URL that the download was started with.
    public func finishedFile(for url: URL) -> URL? {
        let file = scheduler.paths.finished(url)
        return FileKind(at: file).fileSize == nil ? nil : file
    }

    /// Pauses every download that is not over.
    public func pauseAll() {
        for downloader in waitingFirst { downloader.pause() }
    }

    /// Starts every download that is waiting or paused, in order. Failed and cancelled ones stay as they are.
    public func resumeAll() {
        for downloader in downloads where downloader.state.kind != .failed { downloader.resume() }
    }

    /// Cancels every download that is not over.
    public func cancelAll() {
        for downloader in waitingFirst { downloader.cancel() }
    }

    /// Waiting downloads first, so that none of them takes a slot that another has just freed.
    private var waitingFirst: [Downloader] {
        let downloads = downloads
        return downloads.filter { $0.state.kind != .downloading } + downloads.filter { $0.state.kind == .downloading }
    }

    /// Stops all downloads and keeps their files. Downloads that were not over fail with `URLError.cancelled` in this manager,
    /// and have their former state in the next manager of the same folders. This manager starts no more downloads.
    public func invalidate() {
        scheduler.invalidate()
        for downloader in downloads {
            downloader.invalidate()
            // The item is complete before the next manager reads it.
            downloader.waitForItemWriter()
        }
    }

    /// Returns when nothing is being transferred or written: after ``pauseAll()`` or ``invalidate()``, when all received bytes
    /// are safe on disk; otherwise when no download is left to transfer.
    public func waitUntilIdle() async {
        await scheduler.waitUntilIdle()
    }
}

/// A manager's list: the unfinished downloads in the order in which they were added.
final class DownloadList: Sendable {
    private struct State: Sendable {
        var downloads: [Downloader] = []
        var byKey: [String: Downloader] = [:]
        var lastOrder: Int64 = 0
    }

    private let state = Mutex(State())

    /// An order number for now, later than those given before, in other processes too: milliseconds since 1970.
    static var currentOrder: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    var downloads: [Downloader] { state.withLock { $0.downloads } }

    /// Returns a new order number.
    func nextOrder() -> Int64 {
        state.withLock { state in
            state.lastOrder = max(state.lastOrder + 1, Self.currentOrder)
            return state.lastOrder
        }
    }

    func downloader(for url: URL) -> Downloader? {
        let key = DownloadPaths.key(of: url)
        return state.withLock { $0.byKey[key] }
    }

    /// Adds a download, unless there is one of the same URL. Returns the one in the list.
    @discardableResult
    func add(_ downloader: Downloader, order: Int64) -> Downloader {
        state.withLock { state in
            if let present = state.byKey[downloader.key] { return present }
            state.lastOrder = max(state.lastOrder, order)
            state.byKey[downloader.key] = downloader
            state.downloads.append(downloader)
            return downloader
        }
    }

    /// Adds a download that is started again after it was deleted.
    func restore(_ downloader: Downloader) { add(downloader, order: 0) }

    func remove(_ downloader: Downloader) {
        state.withLock { state in
            guard state.byKey[downloader.key] === downloader else { return }
            state.byKey[downloader.key] = nil
            state.downloads.removeAll { $0 === downloader }
        }
    }
}
