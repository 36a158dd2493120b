import Foundation
import Purl

/// What the engine and the attempts tell a download.
extension Downloader {
    var phase: DownloadPhase { shared.withLock { $0.phase } }

    var assignment: Assignment {
        shared.withLock { shared in
            Assignment(
                url: shared.item.currentURL, sha256: shared.item.sha256, totalBytes: shared.item.totalBytes)
        }
    }

    /// The digest to check the file against: the user's, else the server's.
    var expectedDigest: String? { shared.withLock { $0.item.sha256 ?? $0.item.serverSHA256 } }

    /// How long the next try has to wait.
    var delay: Duration { shared.withLock { $0.delay } }

    /// Makes a transition, if the table has it, and tells everybody.
    ///
    /// - Parameter change: What else changes with it, at the same moment.
    @discardableResult
    func apply(_ action: DownloadAction, _ change: (inout Shared) -> Void = { _ in }) -> Bool {
        let calls: [@Sendable () -> Void]? = shared.withLock { shared in
            guard let next = shared.phase.after(action) else { return nil }
            let old = shared.phase.kind
            shared.phase = next
            change(&shared)
            guard next.kind != old else { return [] }
            return shared.audience.hear([.state(shared.state)] + shared.closingEvents, closing: shared.isOver)
        }
        guard let calls else { return false }
        for call in calls { call() }
        return true
    }

    /// Expects a digest, if none is expected yet.
    func expect(_ sha256: String) {
        shared.withLock { $0.item.sha256 = $0.item.sha256 ?? sha256 }
    }

    /// The bytes of the resource follow, those that are there already not counted.
    ///
    /// - Parameter startingOver: The version may be another one than before.
    func beginVersion(total: Int64?, received: Int64, digest: String?, startingOver: Bool) {
        tell { shared in
            let isNews = total != nil && total != shared.item.totalBytes
            shared.item.totalBytes = total
            shared.item.serverSHA256 = digest ?? (startingOver ? nil : shared.item.serverSHA256)
            shared.received = received
            return (isNews ? total.map { [.totalSize($0)] } ?? [] : []) + [shared.progress]
        }
        saveItem()
    }

    /// So many bytes are on disk.
    func received(_ count: Int64) {
        tell { shared in
            guard shared.received != count else { return [] }
            shared.received = count
            shared.peak = max(shared.peak, count)
            return [shared.progress]
        }
    }

    /// The bytes turned out to be wrong and are gone.
    func forgetVersion() {
        tell { shared in
            shared.forgetVersion()
            return [shared.progress]
        }
        saveItem()
    }

    private func tell(_ change: (inout Shared) -> [Event]) {
        let calls = shared.withLock { shared in
            let events = change(&shared)
            return shared.audience.hear(events, closing: false)
        }
        for call in calls { call() }
    }

    /// The file is in its place.
    func finish(_ file: URL, size: Int64) {
        // The item goes before anybody hears of the end.
        itemFile.save { nil }
        if totalBytes != size {
            tell {
                $0.item.totalBytes = size
                return [.totalSize(size)]
            }
        }
        received(size)
        apply(.finish) { shared in
            shared.finished = (file, size)
            roster?.remove(self)
        }
        saveItem()
    }

    /// An attempt failed: tries again later, or fails.
    func attemptFailed(_ error: any Error, _ response: HTTPURLResponse?, _ policy: RetryPolicy) {
        let failures = shared.withLock { shared in
            if shared.peak > shared.best { shared.failures = 0 }
            shared.best = max(shared.best, shared.peak)
            shared.failures += 1
            return shared.failures
        }
        if let delay = policy.delay(afterFailures: failures, error: error, response: response),
            apply(.retry, { $0.delay = delay })
        {
            return
        }
        apply(.fail) { $0.failure = error }
    }

    /// Its manager has ended.
    func invalidate() {
        apply(.invalidate) { $0.failure = DownloadFailure.invalidated.urlError(for: $0.item.currentURL) }
    }

    /// True once after ``cancelAndDelete()``.
    func takeDeletion() -> Bool {
        shared.withLock { shared in
            defer { shared.isToBeDeleted = false }
            return shared.isToBeDeleted
        }
    }

    /// Brings the item on disk up to date.
    func saveItem() {
        itemFile.save {
            shared.withLock { shared in
                let isGone = shared.phase == .finished || (shared.phase == .failed && shared.isDeleted)
                return isGone ? nil : shared.item
            }
        }
    }
}
