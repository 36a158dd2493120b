import Foundation
import Purl
import Synchronization

/// One file's download: paused, resumed, retried, checked and moved to its place.
///
/// ```swift
/// let downloader = Downloader(url: url, configuration: DownloadConfiguration())
/// downloader.start()
/// for await event in downloader.events { … }
/// let file = try await downloader.file()
/// ```
///
/// All methods can be called from any thread. A download under way is kept alive until it ends or is paused.
public final class Downloader: Sendable {
    private struct Shared: Sendable {
        var status: DownloadStatus
        var listeners = EventListeners()
    }

    /// The URL of the resource: the download's identity.
    public let url: URL
    /// SHA-256 of the URL, hexadecimal: the base name of its files.
    public let key: String

    private let shared: Mutex<Shared>
    private let scheduler: DownloadScheduler
    /// The manager's list; `nil` for a downloader on its own.
    private let list: DownloadList?
    private let itemFile: ItemFile

    /// A downloader on its own. It resumes what an earlier one, or a manager, has left in the same folders.
    ///
    /// - Parameters:
    ///   - url: The resource.
    ///   - sha256: The digest that the file must have, 64 hexadecimal digits. Without it the server's digest is checked,
    ///     if it sends one.
    ///   - configuration: Where files are kept and how requests are made.
    public convenience init(url: URL, sha256: String? = nil, configuration: DownloadConfiguration) {
        let scheduler = DownloadScheduler(configuration)
        let item = ItemFile.read(scheduler.paths.item(url))
        self.init(url, sha256: sha256, item: item, order: DownloadList.currentOrder, scheduler: scheduler, list: nil)
    }

    /// - Parameter item: What an earlier process has left of the download.
    init(
        _ url: URL, sha256: String?, item: DownloadItem?, order: Int64, scheduler: DownloadScheduler,
        list: DownloadList?
    ) {
        self.url = url
        key = DownloadPaths.key(of: url)
        self.scheduler = scheduler
        self.list = list
        itemFile = ItemFile(scheduler.paths.item(url), holding: item, validity: scheduler.validity)
        var start = item ?? DownloadItem(url: url, currentURL: url, sha256: nil, intent: .wanted, order: order)
        start.sha256 = sha256 ?? start.sha256
        shared = Mutex(Shared(status: DownloadStatus(start, scheduler.paths)))
    }

    /// The URL that requests go to: differs from ``url`` after ``replaceURL(with:)``.
    public var currentURL: URL { status.item.currentURL }

    /// The current state.
    public var state: State { status.state }

    /// How many bytes are on disk. Known before any request, from the record that an earlier process has left.
    public var bytesReceived: Int64 { status.received }

    /// The length of the whole file, if it is known.
    public var totalBytes: Int64? { status.item.totalBytes }

    private var status: DownloadStatus { shared.withLock { $0.status } }

    // MARK: Control

    /// Starts or resumes the download: it is transferred as soon as a slot is free. When the finished file exists already,
    /// the download finishes at once without a request. Does nothing while it waits for a slot, is being downloaded or is
    /// finished.
    public func start() {
        guard scheduler.validity.isValid else { return invalidate() }
        let status = status
        let isFinishable = status.phase.after(.finish) != nil && status.phase != .moving
        let location = scheduler.paths.finished(url)
        if status.item.sha256 == nil, isFinishable, let size = FileKind(at: location).fileSize {
            finish(location, size: size)
            // A process that was killed while it moved the file may have left the partial one.
            shared.withLock { $0.status.requestDeletion() }
        } else {
            update { $0.start() }
            if status.phase == .failed { list?.restore(self) }
            saveItem()
        }
        scheduler.statusChanged(of: self)
    }

    /// The same as ``start()``.
    public func resume() { start() }

    /// Stops the transfer and frees its slot. The bytes stay; ``resume()`` continues with them if the server supports ranges
    /// and sends a strong validator (RFC 9110 §8.8.1), and starts over otherwise. Does nothing when the download is over.
    public func pause() {
        control { $0.pause() }
    }

    /// Ends the download with `URLError.cancelled`. The bytes stay, and ``start()`` resumes with them. Does nothing when
    /// the download is over.
    public func cancel() {
        control { $0.cancel() }
    }

    /// Ends the download with `URLError.cancelled`, takes it off the manager's list and removes its unfinished files from
    /// disk as soon as the transfer has released them (see ``waitUntilIdle()``). A finished file stays.
    public func cancelAndDelete() {
        control { [self] status in
            let events = status.delete()
            if events != nil { list?.remove(self) }
            return events
        }
    }

    /// Sends further requests for the same resource to another URL, a link that was signed anew for example. The bytes on
    /// disk are kept if the validator there is the one they came with. A transfer under way is restarted.
    ///
    /// - Parameter url: The new URL. The download keeps its identity, ``url``.
    public func replaceURL(with url: URL) {
        control { $0.replaceURL(with: url) }
    }

    /// Returns when nothing of the download is being transferred or written: at once when it is paused, waiting or over and
    /// its last transfer has released the files.
    public func waitUntilIdle() async {
        await scheduler.waitUntilIdle(self)
    }

    private func control(_ step: (inout DownloadStatus) -> [Event]?) {
        guard scheduler.validity.isValid, update(step) else { return }
        saveItem()
        scheduler.statusChanged(of: self)
    }

    // MARK: Listening

    /// The events from the current state and progress to the end, ``Event/succeeded(_:size:)`` or ``Event/failed(_:)``.
    /// Each call returns a stream of its own; a slow reader delays neither the transfer nor other listeners.
    public var events: AsyncStream<Event> {
        let stream = EventStream()
        shared.withLock { shared in
            // Nothing awaits the new stream yet, so there is nothing to call.
            _ = stream.put(shared.status.openingEvents, isLast: shared.status.isOver)
            if !shared.status.isOver { shared.listeners.add(stream) }
        }
        return stream.events
    }

    /// Calls the observer with the events that ``events`` yields, in order and one at a time.
    ///
    /// - Parameters:
    ///   - queue: Where the observer is called; `nil` creates a queue for it.
    ///   - observer: Receives each event.
    /// - Returns: A handle that stops the calls before the end.
    @discardableResult
    public func observe(
        on queue: OperationQueue? = nil, _ observer: @escaping @Sendable (Event) -> Void
    ) -> Observation {
        let observation = Observation(on: queue, observer)
        let call = shared.withLock { shared in
            if !shared.status.isOver { shared.listeners.add(observation) }
            return observation.put(shared.status.openingEvents, isLast: shared.status.isOver)
        }
        call?()
        return observation
    }

    /// Waits for the end and returns the file, or throws the error. It does not start the download. When the waiting task is
    /// cancelled it throws `CancellationError`; the download continues.
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

    // MARK: Interface of the scheduler, the attempts and the manager

    var phase: DownloadPhase { status.phase }

    /// What the next attempt transfers.
    var resource: DownloadAttempt.Resource {
        let item = status.item
        return DownloadAttempt.Resource(url: item.currentURL, sha256: item.sha256, totalBytes: item.totalBytes)
    }

    var expectedDigest: String? { status.expectedDigest }

    var retryDelay: Duration { status.retryDelay }

    /// Makes a transition that changes nothing but the phase. False when the table refuses it.
    @discardableResult
    func apply(_ action: DownloadAction) -> Bool {
        update { $0.apply(action) }
    }

    /// Sets the digest that the user expects, unless there is one.
    func expect(_ sha256: String) {
        shared.withLock { $0.status.expect(sha256) }
    }

    /// The bytes of a version follow; see ``DownloadStatus/beginVersion(total:received:digest:isStartingOver:)``.
    func beginVersion(total: Int64?, received: Int64, digest: String?, isStartingOver: Bool) {
        update {
            $0.beginVersion(total: total, received: received, digest: digest, isStartingOver: isStartingOver)
        }
        saveItem()
    }

    /// So many bytes are on disk.
    func setReceived(_ count: Int64) {
        update { $0.setReceived(count) }
    }

    /// The bytes did not pass the check and have been removed.
    func discardVersion() {
        update { $0.discardVersion() }
        saveItem()
    }

    /// The file is in its place.
    func finish(_ file: URL, size: Int64) {
        // The item is removed before any listener receives the end.
        itemFile.save { nil }
        update { $0.setTotal(size) }
        update { $0.setReceived(size) }
        update { [self] status in
            let events = status.finish(file, size: size)
            if events != nil { list?.remove(self) }
            return events
        }
        saveItem()
    }

    /// An attempt failed: the download is retried later, or fails.
    func attemptFailed(_ error: any Error, _ response: HTTPURLResponse?, _ policy: RetryPolicy) {
        let failures = shared.withLock { $0.status.countFailure() }
        if let delay = policy.delay(afterFailures: failures, error: error, response: response),
            update({ $0.retry(after: delay) })
        {
            return
        }
        update { $0.fail(error) }
    }

    /// The manager has been invalidated.
    func invalidate() {
        update { $0.invalidate() }
    }

    /// True once after ``cancelAndDelete()``.
    func takeDeletion() -> Bool {
        shared.withLock { $0.status.takeDeletion() }
    }

    /// Returns when the item is not being written.
    func waitForItemWriter() { itemFile.waitForWriter() }

    /// Makes one step and delivers its events. False when the step was refused.
    @discardableResult
    private func update(_ step: (inout DownloadStatus) -> [Event]?) -> Bool {
        let calls: [@Sendable () -> Void]? = shared.withLock { shared in
            guard let events = step(&shared.status) else { return nil }
            return shared.listeners.put(events, isLast: shared.status.isOver)
        }
        guard let calls else { return false }
        for call in calls { call() }
        return true
    }

    /// Brings the item on disk up to date.
    private func saveItem() {
        itemFile.save { status.itemToSave }
    }
}

extension Downloader {
    /// The state of a download.
    public enum State: Sendable {
        /// Waits to be started, for a slot, or for the next attempt.
        case waiting
        /// Being transferred, checked or moved.
        case downloading
        /// Stopped by the user; the bytes stay.
        case paused
        /// The file is at this URL.
        case finished(URL)
        /// Ended without a file. `URLError.cancelled` when the user cancelled it.
        case failed(any Error)

        /// A state without its file or error.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            case waiting, downloading, paused, finished, failed
        }

        /// The state without its file or error.
        public var kind: Kind {
            switch self {
            case .waiting: .waiting
            case .downloading: .downloading
            case .paused: .paused
            case .finished: .finished
            case .failed: .failed
            }
        }
    }

    /// What listeners receive.
    public enum Event: Sendable {
        /// The length of the whole file is known, in bytes.
        case totalSize(Int64)
        /// How many bytes are on disk. A later one replaces one that a slow listener has not taken yet. The count falls when
        /// the resource has changed and the download starts over.
        case progress(received: Int64, total: Int64?)
        /// The state changed.
        case state(State)
        /// The last event of a finished download, right after its state.
        case succeeded(URL, size: Int64)
        /// The last event of a failed download, right after its state.
        case failed(any Error)
    }
}
