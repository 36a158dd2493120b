import Foundation
import Purl
import Synchronization

/// Runs the attempts of a manager's downloads: assigns a limited number of slots in order, and waits between attempts.
///
/// A ``Downloader`` changes its phase at once, on the caller's thread, and reports that here; the scheduler then starts and
/// stops attempts until what runs agrees with the phases.
actor DownloadScheduler {
    /// The delay before a download's next attempt.
    private struct BackOff {
        let number: Int
        let downloader: Downloader
        let sleep: Task<Void, Never>
    }

    nonisolated let validity = SchedulerValidity()
    nonisolated let paths: DownloadPaths
    private nonisolated let session: URLSession
    private let policy: RetryPolicy
    private let slots: Int
    /// Downloads whose phase has changed since the last reconciliation, in order.
    private nonisolated let changes = Mutex<[Downloader]>([])
    /// Downloads that wait for a slot, first in first out.
    private var queue: [Downloader] = []
    private var attempts: [ObjectIdentifier: DownloadAttempt] = [:]
    private var backOffs: [ObjectIdentifier: BackOff] = [:]
    private var lastBackOff = 0
    /// Callers of ``waitUntilIdle(_:)``, resumed whenever an attempt ends.
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    init(_ configuration: DownloadConfiguration) {
        paths = DownloadPaths(
            finishedDirectory: configuration.finishedDirectory, unfinishedDirectory: configuration.unfinishedDirectory)
        policy = configuration.retryPolicy
        slots = max(1, configuration.maximumConcurrentDownloads)
        let settings = configuration.session.copy() as? URLSessionConfiguration ?? .default
        // A download that has a slot does not queue for a connection as well.
        settings.httpMaximumConnectionsPerHost = max(settings.httpMaximumConnectionsPerHost, slots)
        session = URLSession(configuration: settings)
    }

    /// Reports that a download's phase has changed. From any thread.
    nonisolated func statusChanged(of downloader: Downloader) {
        changes.withLock { $0.append(downloader) }
        Task { await self.reconcile() }
    }

    /// Stops all attempts; none is started afterwards.
    nonisolated func invalidate() {
        guard validity.invalidate() else { return }
        session.invalidateAndCancel()
        Task { await self.reconcile() }
    }

    /// Returns when there is no attempt for `downloader`; for `nil`, when there is none at all.
    func waitUntilIdle(_ downloader: Downloader? = nil) async {
        reconcile()
        while downloader.map({ attempts[ObjectIdentifier($0)] != nil }) ?? !attempts.isEmpty {
            await withCheckedContinuation { idleWaiters.append($0) }
        }
    }

    // MARK: Reconciliation

    private func reconcile() {
        let changed = changes.withLock { changes in
            defer { changes = [] }
            return changes
        }
        if !validity.isValid { invalidateDownloads(changed) }
        for downloader in changed { reconcile(downloader) }
        fillSlots()
    }

    /// After the invalidation no download waits any more.
    private func invalidateDownloads(_ changed: [Downloader]) {
        let waiting = queue + backOffs.values.map(\.downloader)
        for downloader in changed + waiting { downloader.invalidate() }
        for downloader in waiting { reconcile(downloader) }
        for attempt in attempts.values {
            attempt.downloader.invalidate()
            attempt.stop()
        }
    }

    private func reconcile(_ downloader: Downloader) {
        let identity = ObjectIdentifier(downloader)
        let phase = downloader.phase
        if phase != .backingOff { backOffs.removeValue(forKey: identity)?.sleep.cancel() }
        if phase == .queued {
            if !queue.contains(where: { $0 === downloader }) { queue.append(downloader) }
        } else {
            queue.removeAll { $0 === downloader }
        }
        if let attempt = attempts[identity] {
            if phase.kind != .downloading { attempt.stop() }
        } else if downloader.takeDeletion() {
            DownloadSink.remove(paths, of: downloader.url)
        }
        if phase == .backingOff, backOffs[identity] == nil { scheduleWake(of: downloader) }
    }

    private func fillSlots() {
        guard validity.isValid else { return }
        while attempts.count < slots {
            // A download that was paused and resumed waits until its old attempt has released the file.
            guard let index = queue.firstIndex(where: { attempts[ObjectIdentifier($0)] == nil }) else { return }
            let downloader = queue.remove(at: index)
            guard downloader.apply(.admit) else { continue }
            backOffs.removeValue(forKey: ObjectIdentifier(downloader))?.sleep.cancel()
            let attempt = DownloadAttempt(
                downloader, session: session, paths: paths, validity: validity
            ) { attempt, outcome in
                Task { await self.attemptEnded(attempt, outcome) }
            }
            attempts[ObjectIdentifier(downloader)] = attempt
            attempt.start()
        }
    }

    private func attemptEnded(_ attempt: DownloadAttempt, _ outcome: DownloadAttempt.Outcome) {
        let downloader = attempt.downloader
        attempts[ObjectIdentifier(downloader)] = nil
        switch outcome {
        case .stopped: break
        case .finished(let file, let size): downloader.finish(file, size: size)
        case .failed(let error, let response): downloader.attemptFailed(error, response, policy)
        }
        reconcile(downloader)
        reconcile()
        let waiters = idleWaiters
        idleWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    // MARK: Back-off

    private func scheduleWake(of downloader: Downloader) {
        lastBackOff += 1
        let (number, delay) = (lastBackOff, downloader.retryDelay)
        let sleep = Task {
            do {
                try await Task.sleep(for: delay)
                wake(downloader, number)
            } catch {
                // Cancelled: the download has left the phase.
            }
        }
        backOffs[ObjectIdentifier(downloader)] = BackOff(number: number, downloader: downloader, sleep: sleep)
    }

    private func wake(_ downloader: Downloader, _ number: Int) {
        guard backOffs[ObjectIdentifier(downloader)]?.number == number else { return }
        backOffs[ObjectIdentifier(downloader)] = nil
        downloader.apply(.wake)
        reconcile(downloader)
        reconcile()
    }
}

/// Whether a scheduler has been invalidated; read from any thread.
final class SchedulerValidity: Sendable {
    private let isInvalidated = Atomic(false)

    var isValid: Bool { !isInvalidated.load(ordering: .acquiring) }

    /// True the first time.
    func invalidate() -> Bool { !isInvalidated.exchange(true, ordering: .acquiringAndReleasing) }
}
