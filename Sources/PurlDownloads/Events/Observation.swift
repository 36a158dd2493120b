import Foundation
import Synchronization

/// What ``Downloader/observe(on:_:)`` returns: a way to stop listening. Letting it go changes nothing.
public final class Observation: Sendable {
    private struct State: Sendable {
        var buffer = EventBuffer()
        var isDraining = false
    }

    private let state = Mutex(State())
    private let run: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let observer: @Sendable (Downloader.Event) -> Void

    init(on queue: OperationQueue?, _ observer: @escaping @Sendable (Downloader.Event) -> Void) {
        self.observer = observer
        if let queue {
            run = { queue.addOperation($0) }
        } else {
            let own = DispatchQueue(label: "PurlDownloads.Observation")
            run = { own.async(execute: $0) }
        }
    }

    /// Calls the observer no more; a call that is being made goes on.
    public func cancel() {
        state.withLock { $0.buffer.abandon() }
    }

    /// At most one drain at a time, so that calls come in order on a concurrent queue too.
    private func drain() {
        while let event = state.withLock({ state in
            let event = state.buffer.take()
            state.isDraining = event != nil
            return event
        }) {
            observer(event)
        }
    }
}

extension Observation: EventListener {
    func put(_ events: [Downloader.Event], closing: Bool) -> (@Sendable () -> Void)? {
        let starts = state.withLock { state in
            state.buffer.put(events, closing: closing)
            defer { state.isDraining = true }
            return !state.isDraining
        }
        guard starts else { return nil }
        return { [self] in run { self.drain() } }
    }
}
