import Synchronization

/// A listener behind an `AsyncStream`.
final class EventStream: EventListener {
    private struct State: Sendable {
        var buffer = EventBuffer()
        /// Who waits for the next event.
        var takers: [CheckedContinuation<Downloader.Event?, Never>] = []
    }

    private let state = Mutex(State())

    /// Yields what this listener hears. Dropping the stream, or cancelling the task that waits, ends the listening.
    var events: AsyncStream<Downloader.Event> {
        AsyncStream {
            await self.next()
        } onCancel: {
            self.stop()
        }
    }

    func put(_ events: [Downloader.Event], closing: Bool) -> (@Sendable () -> Void)? {
        let served = state.withLock { state in
            state.buffer.put(events, closing: closing)
            return Self.serve(&state)
        }
        guard !served.isEmpty else { return nil }
        return { for (taker, event) in served { taker.resume(returning: event) } }
    }

    private func stop() {
        let served = state.withLock { state in
            state.buffer.abandon()
            return Self.serve(&state)
        }
        for (taker, event) in served { taker.resume(returning: event) }
    }

    private typealias Served = [(CheckedContinuation<Downloader.Event?, Never>, Downloader.Event?)]

    /// Who gets what, as far as there is something to get.
    private static func serve(_ state: inout State) -> Served {
        var served: Served = []
        while !state.takers.isEmpty {
            let event = state.buffer.take()
            guard event != nil || state.buffer.isExhausted else { break }
            served.append((state.takers.removeFirst(), event))
        }
        return served
    }

    private func next() async -> Downloader.Event? {
        await withCheckedContinuation { taker in
            let served = state.withLock { state in
                state.takers.append(taker)
                return Self.serve(&state)
            }
            for (taker, event) in served { taker.resume(returning: event) }
        }
    }
}
