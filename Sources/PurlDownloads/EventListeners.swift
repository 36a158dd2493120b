import Synchronization

/// The listeners of one download.
struct EventListeners: Sendable {
    private struct Observer: Sendable {
        let observation: Observation
        let expected: ExpectedDigest
    }

    private struct WeakStream: Sendable {
        weak let stream: EventStream?
        let expected: ExpectedDigest
    }

    private var observers: [Observer] = []
    /// Held weakly: a stream that has been dropped has no reader.
    private var streams: [WeakStream] = []

    mutating func add(_ observation: Observation, expecting expected: ExpectedDigest) {
        observers.append(Observer(observation: observation, expected: expected))
    }

    mutating func add(_ stream: EventStream, expecting expected: ExpectedDigest) {
        streams.append(WeakStream(stream: stream, expected: expected))
    }

    /// Hands events to all listeners.
    ///
    /// - Parameters:
    ///   - isLast: No events follow: the listeners are removed.
    ///   - events: The events for a listener that expects this digest.
    /// - Returns: The calls that deliver them, to be made without holding a lock.
    mutating func put(
        isLast: Bool, _ events: (ExpectedDigest) -> [Downloader.Event]
    ) -> [@Sendable () -> Void] {
        var calls: [@Sendable () -> Void] = []
        for observer in observers {
            if let call = observer.observation.put(events(observer.expected), isLast: isLast) { calls.append(call) }
        }
        streams.removeAll { $0.stream == nil }
        for listener in streams {
            if let call = listener.stream?.put(events(listener.expected), isLast: isLast) { calls.append(call) }
        }
        if isLast {
            observers = []
            streams = []
        }
        return calls
    }
}

/// The events that one listener has not taken yet.
///
/// Progress that has not been taken is replaced by later progress, so a slow listener costs no more memory than its state
/// events, which are few, and one progress between two of them.
struct EventBuffer: Sendable {
    private var waiting: ArraySlice<Downloader.Event> = []
    private(set) var isClosed = false

    /// Every event has been taken, and no other follows.
    var isExhausted: Bool { isClosed && waiting.isEmpty }

    mutating func put(_ events: [Downloader.Event], isLast: Bool) {
        guard !isClosed else { return }
        for event in events {
            if case .progress = event, case .progress? = waiting.last { waiting.removeLast() }
            waiting.append(event)
        }
        isClosed = isLast
    }

    mutating func take() -> Downloader.Event? { waiting.popFirst() }

    /// Drops all events, and those to come.
    mutating func abandon() {
        waiting = []
        isClosed = true
    }
}

/// A listener behind an `AsyncStream`.
final class EventStream: Sendable {
    private struct State: Sendable {
        var buffer = EventBuffer()
        /// Readers that wait for the next event.
        var readers: [CheckedContinuation<Downloader.Event?, Never>] = []
    }

    private typealias Deliveries = [(CheckedContinuation<Downloader.Event?, Never>, Downloader.Event?)]

    private let state = Mutex(State())

    /// Yields the events. Dropping the stream, or cancelling the task that reads it, ends the listening.
    var events: AsyncStream<Downloader.Event> {
        AsyncStream {
            await self.next()
        } onCancel: {
            self.abandon()
        }
    }

    /// Takes events. The call returned delivers them; it is to be made without holding a lock.
    func put(_ events: [Downloader.Event], isLast: Bool) -> (@Sendable () -> Void)? {
        let deliveries = state.withLock { state in
            state.buffer.put(events, isLast: isLast)
            return Self.takeDeliveries(&state)
        }
        guard !deliveries.isEmpty else { return nil }
        return { for (reader, event) in deliveries { reader.resume(returning: event) } }
    }

    private func abandon() {
        let deliveries = state.withLock { state in
            state.buffer.abandon()
            return Self.takeDeliveries(&state)
        }
        for (reader, event) in deliveries { reader.resume(returning: event) }
    }

    /// The waiting readers with an event each, as far as there are events; `nil` at the end.
    private static func takeDeliveries(_ state: inout State) -> Deliveries {
        var deliveries: Deliveries = []
        while !state.readers.isEmpty {
            let event = state.buffer.take()
            guard event != nil || state.buffer.isExhausted else { break }
            deliveries.append((state.readers.removeFirst(), event))
        }
        return deliveries
    }

    private func next() async -> Downloader.Event? {
        await withCheckedContinuation { reader in
            let deliveries = state.withLock { state in
                state.readers.append(reader)
                return Self.takeDeliveries(&state)
            }
            for (reader, event) in deliveries { reader.resume(returning: event) }
        }
    }
}
