import Foundation
import Purl

/// Everything about one download that changes: its phase, what is kept of it on disk, its progress, and how it ended.
///
/// A mutating method is one step: it changes the values and returns the events that listeners receive. One that returns
/// an optional makes a transition, and returns `nil` when the table in `DownloadPhase.after(_:)` refuses it; then nothing
/// has changed.
struct DownloadStatus: Sendable {
    typealias Event = Downloader.Event

    private(set) var phase: DownloadPhase
    /// What is kept on disk.
    private(set) var item: DownloadItem
    /// How many bytes are on disk.
    private(set) var received: Int64 = 0
    /// How long to wait before the next attempt.
    private(set) var retryDelay = Duration.zero
    private var finished: (url: URL, size: Int64)?
    private var failure: (any Error)?
    private var retryCount = RetryCount()
    /// The most bytes there have been since the last start. A server that lets every transfer start over and cuts it at
    /// the same byte makes no progress.
    private var peak: Int64 = 0
    /// The partial file and its record are to be removed once no transfer holds them, even when the download has been
    /// started again meanwhile.
    private var isDeletionPending = false
    /// The last control was ``Downloader/cancelAndDelete()``.
    private var isDeleted = false

    /// The status before any request, with the bytes that the record on disk vouches for.
    init(_ item: DownloadItem, _ paths: DownloadPaths) {
        self.item = item
        switch item.intent {
        case .wanted: phase = .idle
        case .paused: phase = .paused
        case .cancelled:
            phase = .failed
            failure = DownloadFailure.cancelled.urlError(for: item.currentURL)
        }
        guard let size = FileKind(at: paths.partial(item.url)).fileSize,
            let record = ResumeRecord(contentsOf: paths.record(item.url)), record.bytesReceived <= size
        else { return }
        received = record.bytesReceived
        self.item.totalBytes = item.totalBytes ?? record.totalBytes
    }

    // MARK: Values

    var state: Downloader.State {
        switch phase {
        case .idle, .queued, .backingOff: return .waiting
        case .downloading, .moving: return .downloading
        case .paused: return .paused
        case .finished:
            if let finished { return .finished(finished.url) }
            return .failed(URLError(.unknown))
        case .failed: return .failed(failure ?? URLError(.unknown))
        }
    }

    /// Finished or failed: no more events follow.
    var isOver: Bool { phase == .finished || phase == .failed }

    /// What is kept on disk from now on; `nil` when the item's file is to be removed.
    var itemToSave: DownloadItem? {
        let isGone = phase == .finished || (phase == .failed && isDeleted)
        return isGone ? nil : item
    }

    /// The digest to check the file against: the user's, otherwise the server's.
    var expectedDigest: String? { item.sha256 ?? item.serverSHA256 }

    /// The first events of a new listener.
    var openingEvents: [Event] { [.state(state), progress] + closingEvents }

    private var progress: Event { .progress(received: received, total: item.totalBytes) }

    /// The last events of every listener; none before the end.
    private var closingEvents: [Event] {
        if let finished, phase == .finished { return [.succeeded(finished.url, size: finished.size)] }
        return isOver ? [.failed(failure ?? URLError(.unknown))] : []
    }

    // MARK: Transitions

    mutating func start() -> [Event]? {
        transition(.start) { status in
            status.item.intent = .wanted
            status.isDeleted = false
            status.retryCount = RetryCount(from: status.received)
            status.peak = status.received
        }
    }

    mutating func pause() -> [Event]? {
        transition(.pause) { $0.item.intent = .paused }
    }

    mutating func cancel() -> [Event]? {
        transition(.cancel) { status in
            status.item.intent = .cancelled
            status.failure = DownloadFailure.cancelled.urlError(for: status.item.currentURL)
        }
    }

    mutating func delete() -> [Event]? {
        transition(.delete) { status in
            status.failure = DownloadFailure.cancelled.urlError(for: status.item.currentURL)
            status.isDeletionPending = true
            status.isDeleted = true
            status.clearVersion()
        }
    }

    mutating func replaceURL(with url: URL) -> [Event]? {
        transition(.replaceURL) { $0.item.currentURL = url }
    }

    mutating func invalidate() -> [Event]? {
        transition(.invalidate) { $0.failure = DownloadFailure.invalidated.urlError(for: $0.item.currentURL) }
    }

    /// Another attempt follows after `delay`.
    mutating func retry(after delay: Duration) -> [Event]? {
        transition(.retry) { $0.retryDelay = delay }
    }

    mutating func fail(_ error: any Error) -> [Event]? {
        transition(.fail) { $0.failure = error }
    }

    /// The file is at `url`.
    mutating func finish(_ url: URL, size: Int64) -> [Event]? {
        transition(.finish) { $0.finished = (url, size) }
    }

    /// Makes a transition that changes nothing but the phase.
    mutating func apply(_ action: DownloadAction) -> [Event]? {
        transition(action) { _ in }
    }

    /// The only place that assigns the phase.
    private mutating func transition(
        _ action: DownloadAction, _ change: (inout DownloadStatus) -> Void
    ) -> [Event]? {
        guard let next = phase.after(action) else { return nil }
        let old = phase.kind
        phase = next
        change(&self)
        return next.kind == old ? [] : [.state(state)] + closingEvents
    }

    // MARK: Progress

    /// The bytes of a version follow `received` bytes that are on disk already.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the whole, from the server.
    ///   - isStartingOver: The version may be another one than before.
    mutating func beginVersion(total: Int64?, received: Int64, digest: String?, isStartingOver: Bool) -> [Event] {
        let isNews = total != nil && total != item.totalBytes
        item.totalBytes = total
        item.serverSHA256 = digest ?? (isStartingOver ? nil : item.serverSHA256)
        self.received = received
        return (isNews ? total.map { [.totalSize($0)] } ?? [] : []) + [progress]
    }

    mutating func setReceived(_ count: Int64) -> [Event] {
        guard received != count else { return [] }
        received = count
        peak = max(peak, count)
        return [progress]
    }

    mutating func setTotal(_ total: Int64) -> [Event] {
        guard item.totalBytes != total else { return [] }
        item.totalBytes = total
        return [.totalSize(total)]
    }

    /// The bytes did not pass the check and have been removed.
    mutating func discardVersion() -> [Event] {
        clearVersion()
        return [progress]
    }

    private mutating func clearVersion() {
        received = 0
        item.totalBytes = nil
        item.serverSHA256 = nil
    }

    // MARK: Bookkeeping

    /// Sets the digest that the user expects, unless there is one.
    mutating func expect(_ sha256: String) {
        item.sha256 = item.sha256 ?? sha256
    }

    /// Counts a failed attempt.
    ///
    /// - Returns: The failures in a row without progress in between.
    mutating func countFailure() -> Int {
        retryCount.addFailure(at: peak)
        return retryCount.failures
    }

    /// The partial file and its record are to be removed once no transfer holds them.
    mutating func requestDeletion() { isDeletionPending = true }

    /// True once after each request for a deletion.
    mutating func takeDeletion() -> Bool {
        defer { isDeletionPending = false }
        return isDeletionPending
    }
}
