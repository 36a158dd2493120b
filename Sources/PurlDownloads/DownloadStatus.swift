import Foundation
import Purl

/// Everything about one download that changes: its phase, what is kept of it on disk, its progress, and how it ended.
///
/// A mutating method is one step: it changes the values and returns the events that listeners receive. One that returns
/// an optional makes a transition, and returns `nil` when the table in `DownloadPhase.after(_:)` refuses it; then nothing
/// has changed. The events are those of a listener that expects no digest; ``events(_:for:)`` makes those of the others.
struct DownloadStatus: Sendable {
    typealias Event = Downloader.Event

    /// What the expected digests say about a complete file.
    enum Verdict: Sendable, Equatable {
        case accepted
        /// There are digests to compare with, and the file's is not known yet.
        case needsDigest
        case mismatched
    }

    private enum Ending: Sendable {
        /// - Parameter sha256: The file's digest; `nil` when no caller expects one.
        case finished(URL, size: Int64, sha256: String?)
        case failed(any Error)
        case mismatched(found: String, expected: [String], isKept: Bool)
    }

    private(set) var phase: DownloadPhase
    /// What is kept on disk.
    private(set) var item: DownloadItem
    /// How many bytes are on disk.
    private(set) var received: Int64 = 0
    /// Whether no mirror is asked for parts.
    private(set) var asksOneServer = false
    /// How long to wait before the next attempt.
    private(set) var retryDelay = Duration.zero
    /// How the download ended last.
    private var ending: Ending
    private var attempts = AttemptSequence()
    /// The servers that have failed since the last start.
    private var failedSources: Set<URL> = []
    /// The most bytes there have been since the last start, or since another server is asked. A server that lets every transfer
    /// start over and cuts it at the same byte makes no progress.
    private var peak: Int64 = 0
    /// The partial file and its record are to be removed once no transfer holds them.
    private(set) var isDeletionPending = false
    private var isDeleted = false

    /// The status before any request.
    ///
    /// - Parameter record: The record on disk, when there are the bytes that it vouches for.
    init(_ item: DownloadItem, record: ResumeRecord?) {
        self.item = item
        ending = .failed(DownloadFailure.cancelled.urlError(for: item.currentURL))
        switch item.intent {
        case .wanted: phase = .idle
        case .paused: phase = .paused
        case .cancelled: phase = .failed
        }
        guard let record else { return }
        received = record.bytesReceived
        self.item.totalBytes = item.totalBytes ?? record.totalBytes
    }

    // MARK: Values

    /// The state that a caller sees who expects this digest.
    func state(for expected: ExpectedDigest) -> Downloader.State {
        switch phase {
        case .idle, .queued, .backingOff: .waiting
        case .downloading, .moving: .downloading
        case .paused: .paused
        case .finished, .failed:
            switch result(for: expected) {
            case .success(let file): .finished(file.url)
            case .failure(let error): .failed(error)
            }
        }
    }

    /// Finished or failed: no more events follow.
    var isOver: Bool { phase == .finished || phase == .failed }

    /// Over for good: finished or deleted. Another download of the same URL may take its place.
    var isClosed: Bool { phase == .finished || isDeleted }

    /// Whether the file is there that a caller expects.
    func hasFinished(for expected: ExpectedDigest) -> Bool {
        guard phase == .finished, case .success = result(for: expected) else { return false }
        return true
    }

    /// The first events of a new listener.
    var openingEvents: [Event] { [.state(state(for: .unspecified)), progress] + closingEvents }

    private var progress: Event { .progress(received: received, total: item.totalBytes) }

    /// The last events of every listener; none before the end.
    private var closingEvents: [Event] { isOver ? [closingEvent(for: .unspecified)] : [] }

    private func closingEvent(for expected: ExpectedDigest) -> Event {
        switch result(for: expected) {
        case .success(let file): .succeeded(file.url, size: file.size)
        case .failure(let error): .failed(error)
        }
    }

    /// The events that the last step returned, as a caller receives them who expects this digest.
    func events(_ events: [Event], for expected: ExpectedDigest) -> [Event] {
        guard isOver, expected != .unspecified else { return events }
        return events.map { event in
            switch event {
            case .totalSize, .progress: event
            case .state: .state(state(for: expected))
            case .succeeded, .failed: closingEvent(for: expected)
            }
        }
    }

    /// The file, or why there is none for a caller who expects this digest.
    private func result(for expected: ExpectedDigest) -> Result<(url: URL, size: Int64), any Error> {
        switch (ending, expected) {
        case (.finished(_, _, let found?), .sha256(let digest)) where found != digest:
            .failure(
                DownloadFailure.mismatch(found: found, expected: [digest], .belongsToAnotherCaller)
                    .urlError(for: item.currentURL))
        case (.finished(let url, let size, _), _):
            .success((url, size))
        case (.failed(let error), _):
            .failure(error)
        case (.mismatched(let found, let digests, let isKept), _):
            .failure(
                DownloadFailure.mismatch(
                    found: found, expected: expected.sha256.map { [$0] } ?? digests, isKept ? .isKept : .isDeleted
                ).urlError(for: item.currentURL))
        }
    }

    // MARK: Transitions

    /// - Returns: `nil` also when the download has been deleted: another one takes its place.
    mutating func start() -> [Event]? {
        guard !isDeleted else { return nil }
        return transition(.start) { status in
            status.item.intent = .wanted
            status.failedSources = []
            status.attempts = AttemptSequence(from: status.received, otherSources: status.item.otherSources)
            status.peak = status.received
            status.asksOneServer = false
        }
    }

    mutating func pause() -> [Event]? {
        transition(.pause) { $0.item.intent = .paused }
    }

    mutating func cancel() -> [Event]? {
        transition(.cancel) { status in
            status.item.intent = .cancelled
            status.ending = .failed(DownloadFailure.cancelled.urlError(for: status.item.currentURL))
        }
    }

    /// - Returns: `nil` also when the download has been deleted: the files belong to another one.
    mutating func delete() -> [Event]? {
        guard !isDeleted else { return nil }
        return transition(.delete) { status in
            status.ending = .failed(DownloadFailure.cancelled.urlError(for: status.item.currentURL))
            status.isDeletionPending = true
            status.isDeleted = true
            status.clearVersion()
        }
    }

    mutating func replaceURL(with url: URL) -> [Event]? {
        transition(.replaceURL) { status in status.changeSources { $0.currentURL = url } }
    }

    mutating func invalidate() -> [Event]? {
        transition(.invalidate) {
            $0.ending = .failed(DownloadFailure.invalidated.urlError(for: $0.item.currentURL))
        }
    }

    /// Another attempt follows after `delay`.
    mutating func retry(after delay: Duration) -> [Event]? {
        transition(.retry) { $0.retryDelay = delay }
    }

    mutating func fail(_ error: any Error) -> [Event]? {
        transition(.fail) { $0.ending = .failed(error) }
    }

    /// An attempt has failed: another one follows, later or at the next server, or the download fails.
    ///
    /// - Returns: `nil` also when the user has asked for something else since the attempt has ended.
    mutating func attemptEnded(
        _ error: any Error, _ response: HTTPURLResponse?, _ policy: RetryPolicy
    ) -> [Event]? {
        guard phase.kind == .downloading else { return nil }
        let side = DownloadFailure.isOfServer(error) ? AttemptSequence.Failure.Side.source : .own
        let failure = AttemptSequence.Failure(error, response, of: side, at: peak)
        let next: [Event]? =
            switch attempts.step(after: .failed(failure), policy) {
            case .retry(let delay): retry(after: delay)
            case .useNextSource: useNextSource()
            // A server of downloads loses nothing that it has received.
            case .deliver, .startOver, .stop: nil
            }
        return next ?? fail(error)
    }

    /// The file that an attempt has brought is wrong, and its bytes are deleted: one server is asked for the whole, or the next
    /// one.
    ///
    /// - Returns: `nil` when neither is of use, or the user has asked for something else since.
    mutating func attemptEnded(withMismatch isJoined: Bool, _ policy: RetryPolicy) -> [Event]? {
        guard phase.kind == .downloading else { return nil }
        return switch attempts.step(after: .mismatched(isJoined: isJoined), policy) {
        case .startOver: askOneServer()
        case .useNextSource: useNextSource()
        case .deliver, .retry, .stop: nil
        }
    }

    /// The file that was received has another digest than expected.
    ///
    /// - Parameter keepsBytes: False when no digest vouches for the bytes, which are to be deleted.
    mutating func reject(found: String, keepsBytes: Bool) -> [Event]? {
        let expected = expectedDigests
        let old = received
        let events = transition(.fail) { status in
            status.ending = .mismatched(found: found, expected: expected, isKept: keepsBytes)
            if !keepsBytes { status.clearVersion() }
        }
        guard let events else { return nil }
        return (received == old ? [] : [progress]) + events
    }

    /// The finished file existed already, at `url`.
    ///
    /// - Returns: `nil` also when the digest of the file has to be compared, or the download has been deleted.
    mutating func find(_ url: URL, size: Int64) -> [Event]? {
        guard !isDeleted, verdict(onFinishedFile: nil) == .accepted else { return nil }
        return end(.find, url, size: size, sha256: nil)
    }

    /// The file has been moved to `url`, or was there.
    ///
    /// - Returns: `nil` also when a caller expects a digest and the file's is not known.
    mutating func finish(_ url: URL, size: Int64, sha256: String?) -> [Event]? {
        guard sha256 != nil || item.sha256.isEmpty else { return nil }
        return end(.finish, url, size: size, sha256: sha256)
    }

    private mutating func end(_ action: DownloadAction, _ url: URL, size: Int64, sha256: String?) -> [Event]? {
        var ended = self
        let sizes = ended.setTotal(size) + ended.setReceived(size)
        guard let events = ended.transition(action, { $0.ending = .finished(url, size: size, sha256: sha256) })
        else { return nil }
        self = ended
        return sizes + events
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
        return next.kind == old ? [] : [.state(state(for: .unspecified))] + closingEvents
    }

    // MARK: Digests

    /// Adds the digest that a caller expects to those of the other callers. False when the download is over for good, and
    /// cannot answer for it.
    mutating func expect(_ expected: ExpectedDigest) -> Bool {
        guard !isClosed else { return false }
        changeSources { item in
            if let sha256 = expected.sha256, !item.sha256.contains(sha256) { item.sha256.append(sha256) }
        }
        return true
    }

    /// The digests of which the received file must have one: the callers', otherwise the server's.
    private var expectedDigests: [String] {
        item.sha256.isEmpty ? item.serverSHA256.map { [$0] } ?? [] : item.sha256
    }

    /// Whether the file that has been received is one that was asked for.
    func verdict(onReceivedFile sha256: String?) -> Verdict { Self.verdict(on: sha256, expectedDigests) }

    /// Whether the file in the finished folder, which was checked when it was moved there, is one that was asked for.
    func verdict(onFinishedFile sha256: String?) -> Verdict { Self.verdict(on: sha256, item.sha256) }

    private static func verdict(on sha256: String?, _ expected: [String]) -> Verdict {
        guard !expected.isEmpty else { return .accepted }
        guard let sha256 else { return .needsDigest }
        return expected.contains(sha256) ? .accepted : .mismatched
    }

    // MARK: Mirrors

    mutating func add(_ mirrors: [URL]) { changeSources { $0.add(mirrors) } }

    /// Changes the item, and has the attempts that follow know of the servers that it has now.
    private mutating func changeSources(_ change: (inout DownloadItem) -> Void) {
        change(&item)
        attempts.setOtherSources(remainingSources.count)
    }

    /// The servers to be asked when the current one has failed, in this order.
    private var remainingSources: [URL] { item.nextSources.filter { !failedSources.contains($0) } }

    /// Another attempt follows, at the next server.
    private mutating func useNextSource() -> [Event]? {
        transition(.tryElsewhere) { status in
            status.failedSources.insert(status.item.currentURL)
            status.item.currentURL = status.remainingSources.first ?? status.item.currentURL
            status.asksOneServer = false
            status.peak = 0
        }
    }

    /// Another attempt follows, which asks the current server for the whole, and no other one.
    private mutating func askOneServer() -> [Event]? {
        transition(.tryElsewhere) { status in
            status.asksOneServer = true
            status.peak = 0
        }
    }

    // MARK: Progress

    /// The bytes of a version follow `received` bytes that are on disk already.
    ///
    /// - Parameters:
    ///   - digest: SHA-256 of the whole, from the server.
    ///   - isStartingOver: The version may be another one than before.
    mutating func beginVersion(total: Int64?, received: Int64, digest: String?, isStartingOver: Bool) -> [Event] {
        let known = item.totalBytes
        item.totalBytes = total
        item.serverSHA256 = digest ?? (isStartingOver ? nil : item.serverSHA256)
        self.received = received
        guard let total = item.totalBytes, total != known else { return [progress] }
        return [.totalSize(total), progress]
    }

    mutating func setReceived(_ count: Int64) -> [Event] {
        guard received != count else { return [] }
        received = count
        peak = max(peak, count)
        return [progress]
    }

    private mutating func setTotal(_ total: Int64) -> [Event] {
        guard item.totalBytes != total else { return [] }
        item.totalBytes = total
        return [.totalSize(total)]
    }

    private mutating func clearVersion() {
        received = 0
        item.totalBytes = nil
        item.serverSHA256 = nil
    }

    // MARK: Bookkeeping

    /// The partial file and its record are to be removed once no transfer holds them.
    mutating func requestDeletion() { isDeletionPending = true }

    /// True once after a request for a deletion.
    mutating func takeDeletion() -> Bool {
        defer { isDeletionPending = false }
        return isDeletionPending
    }
}
