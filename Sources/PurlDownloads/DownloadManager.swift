import Foundation
import Purl
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
    /// ``resumeAll()``, ``Downloader/resume()`` or ``download(_:sha256:mirrors:)`` starts them.
    ///
    /// - Parameter configuration: Where files are kept, how many downloads run at a time, and how requests are made.
    public init(configuration: DownloadConfiguration) {
        scheduler = DownloadScheduler(configuration)
        var items = StoredItems(in: scheduler.paths)
        items.removeFinished()
        for item in items.unfinished {
            _ = list.downloader(for: item.url, expecting: .unspecified) {
                Download(item.url, item: item, order: item.order, scheduler: scheduler, list: list)
            }
        }
    }

    deinit {
        invalidate()
    }

    /// The unfinished downloads, failed ones included, in the order in which they were added.
    public var downloads: [Downloader] { list.downloaders }

    /// Starts a download: it is transferred as soon as there is a slot. One that is paused, has failed or was left by an
    /// earlier process is resumed. When the finished file exists already, with the digest that is expected if there is one,
    /// the download finishes without a request.
    ///
    /// The same URL is always the same download. A caller who expects another digest than those before, or is the first to
    /// expect none, gets a downloader of its own, which shares the transfer: the file is moved into the finished folder when it
    /// has one of the expected digests, and the downloaders that expect another one fail with an error that names both.
    ///
    /// - Parameters:
    ///   - url: The resource.
    ///   - sha256: The digest that the file must have, 64 hexadecimal digits. Without it, the file must have one of those that
    ///     other callers, or callers in an earlier process, expect; otherwise the server's digest is checked, if it sends one.
    ///   - mirrors: Other URLs of the same file, 32 at most. They are used only where a digest is expected, which tells whether
    ///     the whole is right, and are remembered with the download. With more than one of
    ///     ``DownloadConfiguration/connections`` parts are requested of all servers at the same time; where the server of one URL
    ///     fails for good, the next one is asked for what is missing, or for the whole if it has another version. When the
    ///     whole is wrong, one server after the other is asked for all of it, each once, before the download fails.
    @discardableResult
    public func download(_ url: URL, sha256: String? = nil, mirrors: [URL] = []) -> Downloader {
        let downloader = list.downloader(for: url, expecting: ExpectedDigest(sha256)) {
            Download(url, item: nil, order: list.nextOrder(), scheduler: scheduler, list: list)
        }
        downloader.add(mirrors)
        downloader.start()
        return downloader
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
        return scheduler.paths.files.fileSize(file) == nil ? nil : file
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
        for download in list.downloads {
            download.invalidate()
            // The item is complete before the next manager reads it.
            download.waitForItemWriter()
        }
    }

    /// Returns when nothing is being transferred, written or deleted: after ``pauseAll()`` or ``invalidate()``, when all received
    /// bytes are safe on disk; otherwise when no download is left to transfer. After ``invalidate()`` the identifier of a
    /// background session is free for the next manager, too.
    public func waitUntilIdle() async {
        await scheduler.waitUntilIdle()
    }
}

/// A manager's list: the unfinished downloads in the order in which they were added, each with the downloaders of its
/// callers.
final class DownloadList: Sendable {
    private struct Entry: Sendable {
        let download: Download
        /// One for each expected digest, and one for the callers that expect none.
        var downloaders: [Downloader] = []
    }

    private struct State: Sendable {
        var entries: [String: Entry] = [:]
        /// The keys of the entries.
        var keys: [String] = []
        var lastOrder: Int64 = 0
    }

    private let state = Mutex(State())

    /// An order number for now, later than those given before, in other processes too: milliseconds since 1970.
    static var currentOrder: Int64 { Int64(Date.current.timeIntervalSince1970 * 1000) }

    var downloads: [Download] {
        state.withLock { state in state.keys.compactMap { state.entries[$0]?.download } }
    }

    /// The first downloader of each download.
    var downloaders: [Downloader] {
        state.withLock { state in state.keys.compactMap { state.entries[$0]?.downloaders.first } }
    }

    /// Returns a new order number.
    func nextOrder() -> Int64 {
        state.withLock { state in
            state.lastOrder = max(state.lastOrder + 1, Self.currentOrder)
            return state.lastOrder
        }
    }

    /// The first downloader of a URL.
    func downloader(for url: URL) -> Downloader? {
        let key = DownloadPaths.key(of: url)
        return state.withLock { $0.entries[key]?.downloaders.first }
    }

    /// The downloader of a URL's callers that expect this digest, or none.
    ///
    /// - Parameter make: Creates the download, unless there is one.
    func downloader(for url: URL, expecting expected: ExpectedDigest, make: () -> Download) -> Downloader {
        let key = DownloadPaths.key(of: url)
        if case .malformed = expected {
            // Not in the list: it has failed.
            return Downloader(expected, of: state.withLock { $0.entries[key]?.download } ?? make())
        }
        let download = download(key, expecting: expected, make: make)
        return state.withLock { state in
            let present = state.entries[key]?.downloaders ?? []
            if let downloader = present.first(where: { $0.expected == expected }) { return downloader }
            let downloader = Downloader(expected, of: download)
            Self.register(downloader, of: download, in: &state)
            return downloader
        }
    }

    /// Enters a downloader whose download is closed under the present download of its URL, which is returned.
    ///
    /// - Parameter make: Creates the download, unless there is one.
    func adopt(_ downloader: Downloader, make: () -> Download) -> Download {
        let download = download(downloader.key, expecting: downloader.expected, make: make)
        state.withLock { Self.register(downloader, of: download, in: &$0) }
        return download
    }

    private static func register(_ downloader: Downloader, of download: Download, in state: inout State) {
        guard state.entries[download.key]?.download === download else { return }
        state.entries[download.key]?.downloaders.append(downloader)
    }

    /// The download with this key, which expects the digest from now on.
    private func download(_ key: String, expecting expected: ExpectedDigest, make: () -> Download) -> Download {
        while true {
            let download = state.withLock { $0.entries[key]?.download } ?? add(make())
            if download.expect(expected) { return download }
            // It has just been closed, and is about to leave the list.
            download.retire()
        }
    }

    /// Adds a download, unless there is one of the same URL. Returns the one in the list.
    private func add(_ download: Download) -> Download {
        state.withLock { state in
            if let present = state.entries[download.key] { return present.download }
            state.lastOrder = max(state.lastOrder, download.status.item.order)
            state.entries[download.key] = Entry(download: download)
            state.keys.append(download.key)
            return download
        }
    }

    func remove(_ download: Download) {
        state.withLock { state in
            guard state.entries[download.key]?.download === download else { return }
            state.entries[download.key] = nil
            state.keys.removeAll { $0 == download.key }
        }
    }
}
