import Foundation
import Purl
internal import PurlIO
import Synchronization

/// Runs the attempts of a manager's downloads: assigns a limited number of slots in order, and waits between attempts.
///
/// A ``Download`` changes its phase at once, on the caller's thread, and reports that here; the scheduler then starts and
/// stops attempts until what runs agrees with the phases.
actor DownloadScheduler {
    /// The delay before a download's next attempt.
    private struct BackOff {
        let number: Int
        let download: Download
        let sleep: Task<Void, Never>
    }

    nonisolated let validity = SchedulerValidity()
    nonisolated let paths: DownloadPaths
    private nonisolated let session: URLSession
    private let policy: RetryPolicy
    private let slots: Int
    private let connections: ConnectionCount
    /// Downloads whose phase has changed since the last reconciliation, in order.
    private nonisolated let changes = Mutex<[Download]>([])
    /// Downloads that wait for a slot, first in first out.
    private var queue: [Download] = []
    /// No more than there are slots, in the order in which they have begun.
    private var attempts: [FileAcquisition] = []
    private var backOffs: [ObjectIdentifier: BackOff] = [:]
    /// Downloads whose files are being deleted, which may wait for the attempt of another manager.
    private var deletions: [Download] = []
    private var lastBackOff = 0
    /// Whether the session may still have tasks, and the identifier of a background session.
    private var isSessionOpen = true
    /// Callers of ``waitUntilIdle(_:)``, resumed whenever a phase has changed, and when the session ends.
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    init(_ configuration: DownloadConfiguration) {
        paths = DownloadPaths(
            finishedDirectory: configuration.finishedDirectory, unfinishedDirectory: configuration.unfinishedDirectory,
            files: configuration.session.files)
        policy = configuration.retryPolicy
        slots = max(1, configuration.maximumConcurrentDownloads)
        connections = configuration.connections
        let settings = configuration.session.copy() as? URLSessionConfiguration ?? .default
        // A download that has a slot does not queue for a connection as well.
        let needed = max(slots, connections.limit.multipliedReportingOverflow(by: slots).partialValue)
        settings.httpMaximumConnectionsPerHost = max(settings.httpMaximumConnectionsPerHost, needed)
        let end = SessionEnd()
        session = URLSession(configuration: settings, delegate: end, delegateQueue: nil)
        end.observe { [weak self] in
            Task { await self?.sessionEnded() }
        }
    }

    /// Reports that a download's phase has changed. From any thread.
    nonisolated func statusChanged(of download: Download) {
        changes.withLock { $0.append(download) }
        Task { await self.reconcile() }
    }

    /// Stops all attempts; none is started afterwards.
    nonisolated func invalidate() {
        guard validity.invalidate() else { return }
        session.invalidateAndCancel()
        Task { await self.reconcile() }
    }

    /// Returns when there is no attempt for `download` or those that were deleted before it, and no deletion; for `nil`, when there
    /// is none at all, and no download waits for one. After the invalidation there is no session then, either.
    func waitUntilIdle(_ download: Download? = nil) async {
        reconcile()
        while isBusy(with: download) {
            await withCheckedContinuation { idleWaiters.append($0) }
        }
    }

    private func isBusy(with download: Download?) -> Bool {
        if !validity.isValid, isSessionOpen { return true }
        let files = attempts.map(\.download) + deletions
        guard let download else { return !(files.isEmpty && queue.isEmpty && backOffs.isEmpty) }
        return files.contains { $0 === download || $0.isClosed && $0.key == download.key }
    }

    private func sessionEnded() {
        isSessionOpen = false
        resumeWaiters()
    }

    private func resumeWaiters() {
        let waiters = idleWaiters
        idleWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    private func currentAttempt(of download: Download) -> FileAcquisition? {
        attempts.first { $0.download === download }
    }

    // MARK: Reconciliation

    private func reconcile() {
        let changed = changes.withLock { changes in
            defer { changes = [] }
            return changes
        }
        if !validity.isValid { invalidateDownloads(changed) }
        for download in changed { reconcile(download) }
        fillSlots()
        resumeWaiters()
    }

    /// After the invalidation no download waits any more.
    private func invalidateDownloads(_ changed: [Download]) {
        let waiting = queue + backOffs.values.sorted { $0.number < $1.number }.map(\.download)
        for download in changed + waiting { download.invalidate() }
        for download in waiting { reconcile(download) }
        for attempt in attempts {
            attempt.download.invalidate()
            attempt.stop()
        }
    }

    private func reconcile(_ download: Download) {
        let identity = ObjectIdentifier(download)
        let phase = download.phase
        if phase != .backingOff { backOffs.removeValue(forKey: identity)?.sleep.cancel() }
        if phase == .queued {
            if !queue.contains(where: { $0 === download }) { queue.append(download) }
        } else {
            queue.removeAll { $0 === download }
        }
        if let attempt = currentAttempt(of: download) {
            if phase.kind != .downloading { attempt.stop() }
        } else if download.deleteIfRequested(then: { Task { await self.deletionEnded(of: download) } }) {
            deletions.append(download)
        }
        if phase == .backingOff, backOffs[identity] == nil { scheduleWake(of: download) }
    }

    private func deletionEnded(of download: Download) {
        deletions.removeAll { $0 === download }
        resumeWaiters()
    }

    private func fillSlots() {
        guard validity.isValid else { return }
        while attempts.count < slots {
            // A download that was paused and resumed waits until its old attempt has released the file.
            guard let index = queue.firstIndex(where: { currentAttempt(of: $0) == nil }) else { return }
            let download = queue.remove(at: index)
            guard download.apply(.admit) else { continue }
            backOffs.removeValue(forKey: ObjectIdentifier(download))?.sleep.cancel()
            let attempt = FileAcquisition(
                download, session: session, paths: paths, validity: validity, connections: connections
            ) { attempt, outcome in
                Task { await self.attemptEnded(attempt, outcome) }
            }
            attempts.append(attempt)
            attempt.start()
        }
    }

    private func attemptEnded(_ attempt: FileAcquisition, _ outcome: FileAcquisition.Outcome) {
        let download = attempt.download
        attempts.removeAll { $0.download === download }
        switch outcome {
        case .over: break
        case .failed(let error, let response): download.attemptEnded(error, response, policy)
        case .mistaken(let found, let isJoined):
            download.attemptEnded(withDigest: found, isJoined: isJoined, policy)
        }
        reconcile(download)
        reconcile()
    }

    // MARK: Back-off

    private func scheduleWake(of download: Download) {
        lastBackOff += 1
        let (number, delay) = (lastBackOff, download.retryDelay)
        let sleep = Task {
            do {
                try await Pause.sleep(for: delay)
                wake(download, number)
            } catch {
                // Cancelled: the download has left the phase.
            }
        }
        backOffs[ObjectIdentifier(download)] = BackOff(number: number, download: download, sleep: sleep)
    }

    private func wake(_ download: Download, _ number: Int) {
        guard backOffs[ObjectIdentifier(download)]?.number == number else { return }
        backOffs[ObjectIdentifier(download)] = nil
        download.apply(.wake)
        reconcile(download)
        reconcile()
    }
}

/// Reports the end of a scheduler's session, once.
private final class SessionEnd: NSObject, URLSessionDelegate {
    private enum State {
        case open((@Sendable () -> Void)?)
        case over
    }

    private let state = Mutex(State.open(nil))

    /// - Parameter onEnd: Called at the end, at once where that has come.
    func observe(_ onEnd: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            if case .over = state { return true }
            state = .open(onEnd)
            return false
        }
        if isOver { onEnd() }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        let onEnd: (@Sendable () -> Void)? = state.withLock { state in
            guard case .open(let onEnd) = state else { return nil }
            state = .over
            return onEnd
        }
        onEnd?()
    }
}

/// Whether a scheduler has been invalidated; read from any thread.
final class SchedulerValidity: Sendable {
    private let isInvalidated = Atomic(false)

    var isValid: Bool { !isInvalidated.load(ordering: .acquiring) }

    /// True the first time.
    func invalidate() -> Bool { !isInvalidated.exchange(true, ordering: .acquiringAndReleasing) }
}
