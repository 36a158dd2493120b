import Foundation
import Purl
import Synchronization

/// Gives out the places, starts and stops attempts, and waits between them.
///
/// Downloads change their state by themselves, at once; then they say so here, in order, and the engine makes what
/// runs agree with what is wanted.
actor DownloadEngine {
    private struct Pause {
        let number: Int
        let downloader: Downloader
        let sleep: Task<Void, Never>
    }

    nonisolated let life = EngineLife()
    nonisolated let places: DownloadPlaces
    nonisolated let session: URLSession
    private let policy: RetryPolicy
    private let limit: Int
    /// Downloads that have changed since the engine looked, in the order in which they did.
    private nonisolated let changes = Mutex<[Downloader]>([])
    /// Who waits for a place, first come, first served.
    private var line: [Downloader] = []
    private var attempts: [ObjectIdentifier: Attempt] = [:]
    private var pauses: [ObjectIdentifier: Pause] = [:]
    private var lastPause = 0
    /// Who waits for an attempt to end.
    private var watchers: [CheckedContinuation<Void, Never>] = []

    init(_ configuration: DownloadConfiguration) {
        places = DownloadPlaces(
            finishedDirectory: configuration.finishedDirectory, unfinishedDirectory: configuration.unfinishedDirectory)
        policy = configuration.retryPolicy
        limit = max(1, configuration.maximumConcurrentDownloads)
        let settings = configuration.session.copy() as? URLSessionConfiguration ?? .default
        // A download that has a place does not queue for a connection as well.
        settings.httpMaximumConnectionsPerHost = max(settings.httpMaximumConnectionsPerHost, limit)
        session = URLSession(configuration: settings)
    }

    /// A download has changed its state. From any thread.
    nonisolated func changed(_ downloader: Downloader) {
        changes.withLock { $0.append(downloader) }
        Task { await self.settle() }
    }

    /// Stops everything for good.
    nonisolated func invalidate() {
        guard life.end() else { return }
        session.invalidateAndCancel()
        Task { await self.settle() }
    }

    /// Returns when there is no attempt for `downloader`, or, without one, none at all.
    func waitUntilIdle(_ downloader: Downloader? = nil) async {
        settle()
        while downloader.map({ attempts[ObjectIdentifier($0)] != nil }) ?? !attempts.isEmpty {
            await withCheckedContinuation { watchers.append($0) }
        }
    }

    // MARK: Making it so

    private func settle() {
        let changed = changes.withLock { changes in
            defer { changes = [] }
            return changes
        }
        if !life.isValid { dismiss(changed) }
        for downloader in changed { settle(downloader) }
        fillPlaces()
    }

    /// After the end nobody waits any more.
    private func dismiss(_ changed: [Downloader]) {
        let waiting = line + pauses.values.map(\.downloader)
        for downloader in changed + waiting { downloader.invalidate() }
        for downloader in waiting { settle(downloader) }
        for attempt in attempts.values {
            attempt.downloader.invalidate()
            attempt.stop()
        }
    }

    private func settle(_ downloader: Downloader) {
        let identity = ObjectIdentifier(downloader)
        let phase = downloader.phase
        if phase != .backingOff { pauses.removeValue(forKey: identity)?.sleep.cancel() }
        if phase == .queued {
            if !line.contains(where: { $0 === downloader }) { line.append(downloader) }
        } else {
            line.removeAll { $0 === downloader }
        }
        if let attempt = attempts[identity] {
            if phase.kind != .downloading { attempt.stop() }
        } else if downloader.takeDeletion() {
            DownloadSink.remove(places, of: downloader.url)
        }
        if phase == .backingOff, pauses[identity] == nil { wait(for: downloader) }
    }

    private func fillPlaces() {
        guard life.isValid else { return }
        while attempts.count < limit {
            // One that was paused and resumed waits until its old attempt has let go of the file.
            guard let index = line.firstIndex(where: { attempts[ObjectIdentifier($0)] == nil }) else { return }
            let downloader = line.remove(at: index)
            guard downloader.apply(.admit) else { continue }
            pauses.removeValue(forKey: ObjectIdentifier(downloader))?.sleep.cancel()
            let attempt = Attempt(downloader, session: session, places: places, life: life) { attempt, outcome in
                Task { await self.ended(attempt, outcome) }
            }
            attempts[ObjectIdentifier(downloader)] = attempt
            attempt.start()
        }
    }

    private func ended(_ attempt: Attempt, _ outcome: Attempt.Outcome) {
        let downloader = attempt.downloader
        attempts[ObjectIdentifier(downloader)] = nil
        switch outcome {
        case .stopped: break
        case .finished(let file, let size): downloader.finish(file, size: size)
        case .failed(let error, let response): downloader.attemptFailed(error, response, policy)
        }
        settle(downloader)
        settle()
        let watchers = watchers
        self.watchers = []
        for watcher in watchers { watcher.resume() }
    }

    // MARK: Waiting for the next try

    private func wait(for downloader: Downloader) {
        lastPause += 1
        let (number, delay) = (lastPause, downloader.delay)
        let sleep = Task {
            do {
                try await Task.sleep(for: delay)
                wake(downloader, number)
            } catch {
                // Somebody else has decided what comes next.
            }
        }
        pauses[ObjectIdentifier(downloader)] = Pause(number: number, downloader: downloader, sleep: sleep)
    }

    private func wake(_ downloader: Downloader, _ number: Int) {
        guard pauses[ObjectIdentifier(downloader)]?.number == number else { return }
        pauses[ObjectIdentifier(downloader)] = nil
        downloader.apply(.wake)
        settle(downloader)
        settle()
    }
}
