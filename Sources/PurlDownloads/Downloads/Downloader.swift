import Foundation
import Purl
import Synchronization

/// One file's download: stopped, gone on with, tried again, checked and put into its place.
///
/// ```swift
/// let downloader = Downloader(url: url, configuration: DownloadConfiguration())
/// downloader.start()
/// for await event in downloader.events { … }
/// let file = try await downloader.file()
/// ```
///
/// Everything can be called from any thread. A download under way is kept alive until it ends or is paused.
public final class Downloader: Sendable {
    /// The URL it was asked for: its identity.
    public let url: URL
    /// SHA-256 of the URL, hexadecimal: what its files are called.
    public let key: String

    let shared: Mutex<Shared>
    let engine: DownloadEngine
    /// The manager's list; `nil` for a downloader on its own.
    let roster: Roster?
    let itemFile: ItemFile

    /// A downloader on its own. It goes on with what an earlier one, or a manager, has left in the same folders.
    ///
    /// - Parameter sha256: What the file must have, 64 hexadecimal digits. Otherwise the server's word is taken.
    public convenience init(url: URL, sha256: String? = nil, configuration: DownloadConfiguration) {
        let engine = DownloadEngine(configuration)
        let item = ItemFile.read(engine.places.item(url))
        self.init(url, sha256: sha256, item: item, order: Roster.orderOfNow, engine: engine, roster: nil)
    }

    /// - Parameter item: What was kept of it.
    init(_ url: URL, sha256: String?, item: DownloadItem?, order: Int64, engine: DownloadEngine, roster: Roster?) {
        self.url = url
        key = DownloadPlaces.key(of: url)
        self.engine = engine
        self.roster = roster
        itemFile = ItemFile(engine.places.item(url), holding: item, life: engine.life)
        var start = item ?? DownloadItem(url: url, currentURL: url, sha256: nil, wish: .wanted, order: order)
        start.sha256 = sha256 ?? start.sha256
        shared = Mutex(Shared(start, engine.places))
    }

    /// The URL that is asked: another one than ``url`` after ``replaceURL(with:)``.
    public var currentURL: URL { shared.withLock { $0.item.currentURL } }

    /// Where it stands.
    public var state: State { shared.withLock { $0.state } }

    /// How many bytes are on disk. Known before any request, from what an earlier process has left.
    public var bytesReceived: Int64 { shared.withLock { $0.received } }

    /// The length of the whole, if it is known.
    public var totalBytes: Int64? { shared.withLock { $0.item.totalBytes } }

    // MARK: Control

    /// Wants the file: it is transferred as soon as there is a place. A file that is there already is the end at
    /// once; then no request is made. Does nothing while it waits for a place, is being downloaded or is finished.
    public func start() {
        // Nobody is to wait for what will never come.
        guard engine.life.isValid else { return invalidate() }
        let (isChecked, phase) = shared.withLock { ($0.item.sha256 != nil, $0.phase) }
        let finished = engine.places.finished(url)
        if !isChecked, phase.after(.finish) != nil, phase != .placing, let size = FileKind(at: finished).fileSize {
            finish(finished, size: size)
            // What a process that ended while it moved the file may have left.
            shared.withLock { $0.isToBeDeleted = true }
        } else {
            apply(.start) { shared in
                shared.item.wish = .wanted
                shared.isDeleted = false
                shared.failures = 0
                shared.peak = shared.received
                shared.best = shared.received
            }
            if phase == .failed { roster?.restore(self) }
            saveItem()
        }
        engine.changed(self)
    }

    /// The same as ``start()``.
    public func resume() { start() }

    /// Stops the transfer and frees its place. The bytes stay; ``resume()`` goes on with them if the server has ranges
    /// and a strong validator (RFC 9110 §8.8.1), and starts over otherwise. Does nothing when it is over.
    public func pause() {
        act(.pause) { $0.item.wish = .paused }
    }

    /// Ends it with `URLError.cancelled`. The bytes stay, and ``start()`` goes on with them. Does nothing when it is
    /// over.
    public func cancel() {
        act(.cancel) { shared in
            shared.item.wish = .cancelled
            shared.failure = DownloadFailure.cancelled.urlError(for: shared.item.currentURL)
        }
    }

    /// Ends it with `URLError.cancelled` and removes what there is of it from disk, as soon as the transfer has let go
    /// of it (see ``waitUntilIdle()``), and from the manager's list. A finished file stays.
    public func cancelAndDelete() {
        act(.delete) { shared in
            shared.failure = DownloadFailure.cancelled.urlError(for: shared.item.currentURL)
            shared.isToBeDeleted = true
            shared.isDeleted = true
            shared.forgetVersion()
            roster?.remove(self)
        }
    }

    /// Asks another URL for the same resource from now on: a link that was signed anew, say. The bytes are gone on with
    /// if the server's validator there is the one they came with. A transfer under way begins again.
    public func replaceURL(with url: URL) {
        act(.replaceURL) { $0.item.currentURL = url }
    }

    /// Returns when nothing of it is being transferred or written; at once when it is paused, waiting or over and its
    /// last transfer has let go of the disk.
    public func waitUntilIdle() async {
        await engine.waitUntilIdle(self)
    }

    private func act(_ action: DownloadAction, _ change: (inout Shared) -> Void) {
        guard engine.life.isValid, apply(action, change) else { return }
        saveItem()
        engine.changed(self)
    }

    // MARK: Listening

    /// What happens, beginning with the state and the progress of now, up to the end: ``Event/succeeded(_:size:)`` or
    /// ``Event/failed(_:)``. Each call is a listener of its own, and one that is slow slows nothing down.
    public var events: AsyncStream<Event> {
        let stream = EventStream()
        shared.withLock { shared in
            // Nobody waits for a new listener's events yet, so there is nobody to call.
            _ = stream.put(shared.openingEvents, closing: shared.isOver)
            if !shared.isOver { shared.audience.add(stream) }
        }
        return stream.events
    }

    /// Calls the observer with what ``events`` yields, in order and one at a time.
    ///
    /// - Parameter queue: Where to call it; `nil` means a queue of its own.
    /// - Returns: What stops it before the end.
    @discardableResult
    public func observe(
        on queue: OperationQueue? = nil, _ observer: @escaping @Sendable (Event) -> Void
    ) -> Observation {
        let observation = Observation(on: queue, observer)
        let call = shared.withLock { shared in
            if !shared.isOver { shared.audience.add(observation) }
            return observation.put(shared.openingEvents, closing: shared.isOver)
        }
        call?()
        return observation
    }

    /// Waits for the end: the file, or the error. It does not start the download. Cancelling the task that waits ends
    /// the waiting with `CancellationError`, not the download.
    public func file() async throws -> URL {
        for await event in events {
            switch event {
            case .succeeded(let url, _): return url
            case .failed(let error): throw error
            case .totalSize, .progress, .state: break
            }
        }
        throw CancellationError()
    }
}
