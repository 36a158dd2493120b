import Foundation

/// Downloads of many files: each URL once, a few at a time, remembered across processes.
///
/// ```swift
/// let manager = DownloadManager(configuration: DownloadConfiguration())
/// manager.resumeAll()                                   // what an earlier process left
/// let file = try await manager.download(url).file()
/// ```
///
/// Everything can be called from any thread. A manager has to be held as long as its downloads are to go on: one that
/// is let go of is invalidated.
public final class DownloadManager: Sendable {
    private let engine: DownloadEngine
    private let roster = Roster()

    /// Makes a manager and reads the list of unfinished downloads from disk. No request is made.
    ///
    /// Downloads that were waiting or being downloaded come back waiting, paused ones paused, cancelled ones failed;
    /// all until ``resumeAll()``, ``Downloader/resume()`` or ``download(_:sha256:)`` asks for them.
    public init(configuration: DownloadConfiguration) {
        engine = DownloadEngine(configuration)
        for item in Self.items(in: engine.places) {
            let downloader = Downloader(
                item.url, sha256: nil, item: item, order: item.order, engine: engine, roster: roster)
            roster.add(downloader, order: item.order)
        }
    }

    deinit {
        invalidate()
    }

    /// The items on disk whose downloads are not finished, in order. Whatever else lies there is passed over.
    private static func items(in places: DownloadPlaces) -> [DownloadItem] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: places.unfinishedDirectory.path)) ?? []
        let items = names.filter { $0.hasSuffix(".\(DownloadPlaces.itemType)") }.sorted().compactMap { name in
            ItemFile.read(places.unfinishedDirectory.appendingPathComponent(name, isDirectory: false))
        }
        let unfinished = items.filter { item in
            guard item.sha256 == nil, FileKind(at: places.finished(item.url)).fileSize != nil else { return true }
            // The process ended just after the file had come to its place.
            unlink(places.item(item.url).path)
            return false
        }
        // The names settle the order of equal numbers, since the sort is stable.
        return unfinished.sorted { $0.order < $1.order }
    }

    /// The unfinished downloads, failed ones included, in the order in which they were asked for.
    public var downloads: [Downloader] { roster.downloads }

    /// Asks for a file: it is transferred as soon as there is a place. The same URL twice is the same download; one that
    /// is paused, failed or was left by an earlier process goes on.
    ///
    /// A file that is there already is the end at once, without a request.
    ///
    /// - Parameter sha256: What the file must have, 64 hexadecimal digits. Otherwise the server's word is taken.
    @discardableResult
    public func download(_ url: URL, sha256: String? = nil) -> Downloader {
        let downloader = roster.downloader(for: url) ?? add(url)
        if let sha256 { downloader.expect(sha256) }
        downloader.start()
        return downloader
    }

    private func add(_ url: URL) -> Downloader {
        let order = roster.nextOrder()
        // Another manager of the same folders may have left it there meanwhile.
        let item = ItemFile.read(engine.places.item(url))
        let downloader = Downloader(url, sha256: nil, item: item, order: order, engine: engine, roster: roster)
        return roster.add(downloader, order: order)
    }

    /// The unfinished download of `url`.
    public func downloader(for url: URL) -> Downloader? { roster.downloader(for: url) }

    /// The finished file of `url`, if it is there.
    public func finishedFile(for url: URL) -> URL? {
        let file = engine.places.finished(url)
        return FileKind(at: file).fileSize == nil ? nil : file
    }

    /// Pauses every download that is not over.
    public func pauseAll() {
        for downloader in backToFront { downloader.pause() }
    }

    /// Asks for every download that is waiting or paused, in order. Failed and cancelled ones stay as they are.
    public func resumeAll() {
        for downloader in downloads where downloader.state.kind != .failed { downloader.resume() }
    }

    /// Cancels every download that is not over.
    public func cancelAll() {
        for downloader in backToFront { downloader.cancel() }
    }

    /// Those that wait come first, so that none of them gets a place that another has just given up.
    private var backToFront: [Downloader] {
        let downloads = downloads
        return downloads.filter { $0.state.kind != .downloading } + downloads.filter { $0.state.kind == .downloading }
    }

    /// Stops everything and keeps what is on disk. Downloads that were not over fail with `URLError.cancelled` here,
    /// and come back, as they were, in the next manager of the same folders. Nothing can be asked of this one any more.
    public func invalidate() {
        engine.invalidate()
        for downloader in downloads {
            downloader.invalidate()
            // What this manager had to say is written before the next one reads.
            downloader.itemFile.waitForWriter()
        }
    }

    /// Returns when nothing is being transferred or written: after ``pauseAll()`` or ``invalidate()``, when everything
    /// received is safe on disk; otherwise when there is nothing left to do.
    public func waitUntilIdle() async {
        await engine.waitUntilIdle()
    }
}
