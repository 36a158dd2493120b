import Foundation
import Synchronization

/// The place where received bytes wait for their consumer: a delegate call or a file write.
///
/// The network side puts bytes in; the consumer takes all of them at once and says when it is done with them. Bytes
/// count until then, which is what bounds a task's memory: at the limit `put` answers that reading must stop, and
/// `done` answers when it may go on.
final class ByteMailbox: Sendable {
    /// What the network side has to do after `put`.
    struct Receipt {
        /// The consumer is not at work: wake it.
        var wakesConsumer: Bool
        /// Stop reading until `done` says otherwise.
        var isFull: Bool
    }

    private struct State {
        var waiting = Data()
        var held = 0
        var consumerIsAwake = false
        var isStalled = false
        var isClosed = false
        /// The consumer is not woken before there is no more room.
        var gathers: Bool
    }

    private let limit: Int
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: How many bytes it holds before `put` says that reading must stop.
    ///   - gathers: The consumer wants as many bytes at a time as there is room for.
    init(limit: Int, gathers: Bool = false) {
        self.limit = limit
        state = Mutex(State(gathers: gathers))
    }

    func put(_ bytes: UnsafeRawBufferPointer) -> Receipt {
        state.withLock { state in
            guard !state.isClosed, !bytes.isEmpty else { return Receipt(wakesConsumer: false, isFull: false) }
            state.waiting.append(contentsOf: bytes)
            state.held += bytes.count
            if state.held >= limit { state.isStalled = true }
            if state.gathers, !state.isStalled { return Receipt(wakesConsumer: false, isFull: false) }
            defer { state.consumerIsAwake = true }
            return Receipt(wakesConsumer: !state.consumerIsAwake, isFull: state.isStalled)
        }
    }

    /// All that waits; `nil` when there is nothing, and then the consumer counts as asleep.
    func take() -> Data? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.consumerIsAwake = false
                return nil
            }
            defer { state.waiting = Data() }
            return state.waiting
        }
    }

    /// There will be no more. True when the consumer has to be woken for what was gathered.
    func release() -> Bool {
        state.withLock { state in
            state.gathers = false
            guard !state.waiting.isEmpty, !state.consumerIsAwake else { return false }
            state.consumerIsAwake = true
            return true
        }
    }

    /// Nothing waits; the consumer counts as asleep then.
    var isEmpty: Bool {
        state.withLock { state in
            if state.waiting.isEmpty { state.consumerIsAwake = false }
            return state.waiting.isEmpty
        }
    }

    /// The consumer no longer holds `count` bytes. True when reading had stopped and may go on.
    func done(_ count: Int) -> Bool {
        state.withLock { state in
            state.held -= count
            guard state.isStalled, state.held <= limit / 2 else { return false }
            state.isStalled = false
            return true
        }
    }

    /// Drops what waits; whatever is put in from now on is dropped too.
    func close() {
        state.withLock { state in
            state.held -= state.waiting.count
            state.waiting = Data()
            state.isClosed = true
        }
    }
}
