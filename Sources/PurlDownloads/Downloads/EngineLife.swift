import Synchronization

/// Whether a manager, or a downloader on its own, still works.
final class EngineLife: Sendable {
    private let ended = Atomic(false)

    var isValid: Bool { !ended.load(ordering: .acquiring) }

    /// True the first time.
    func end() -> Bool { !ended.exchange(true, ordering: .acquiringAndReleasing) }
}
