import Foundation
import Purl
import Synchronization

/// The handle that ``Downloader/observe(on:_:)`` returns: it stops the calls. Releasing it changes nothing.
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
            let own = SerialCalls("PurlDownloads.Observation")
            run = { own.async($0) }
        }
    }

    /// Stops the calls of the observer; one under way completes.
    public func cancel() {
        state.withLock { $0.buffer.abandon() }
    }

    /// Takes events. The call returned delivers them; it is to be made without holding a lock.
    func put(_ events: [Downloader.Event], isLast: Bool) -> (@Sendable () -> Void)? {
        let isStarting = state.withLock { state in
            state.buffer.put(events, isLast: isLast)
            defer { state.isDraining = true }
            return !state.isDraining
        }
        guard isStarting else { return nil }
        return { [self] in run { self.drain() } }
    }

    /// Runs at most once at a time, so that calls come in order on a concurrent queue too.
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
