/// The events one listener has not taken yet.
///
/// Progress that has not been taken is replaced by later progress, so a slow listener costs no more memory than a few
/// events: those of states, which change rarely, and one progress between two of them.
struct EventBuffer: Sendable {
    private var waiting: ArraySlice<Downloader.Event> = []
    private(set) var isClosed = false

    /// Every event has been taken, and no other will come.
    var isExhausted: Bool { isClosed && waiting.isEmpty }

    mutating func put(_ events: [Downloader.Event], closing: Bool) {
        guard !isClosed else { return }
        for event in events {
            if case .progress = event, case .progress? = waiting.last { waiting.removeLast() }
            waiting.append(event)
        }
        isClosed = closing
    }

    mutating func take() -> Downloader.Event? { waiting.popFirst() }

    /// Forgets everything; the listener has gone.
    mutating func abandon() {
        waiting = []
        isClosed = true
    }
}
