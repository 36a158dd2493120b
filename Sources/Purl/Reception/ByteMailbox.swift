import Foundation
import Synchronization

/// The place where received bytes wait for their consumer: a delegate call or a file write.
///
/// The network side puts bytes in; the consumer takes all of them at once and calls `done` when it has used them. Bytes
/// count until then, which bounds a task's memory: at the limit `put` returns that reading must stop, and `done` returns
/// when it may resume.
final class ByteMailbox: Sendable {
    /// What the network side has to do after `put`.
    struct Receipt {
        /// The consumer sleeps: wake it.
        var wakesConsumer: Bool
        /// Reading must stop until `done` returns true.
        var isFull: Bool
    }

    private struct State {
        var waiting = Data()
        var held = 0
        var consumerIsAwake = false
        var isStalled = false
        var isClosed = false
        /// Whether the consumer is woken only when the mailbox is full.
        var gathers: Bool
        /// The bytes that wait are taken, however few they are.
        var isDue = false

        /// Whether the consumer takes what waits.
        func isReady(_ piece: Int) -> Bool { waiting.count >= piece || isStalled || isDue }
    }

    private let limit: Int
    private let piece: Int
    private let state: Mutex<State>

    /// - Parameters:
    ///   - limit: At how many bytes reading must stop.
    ///   - piece: How many bytes the consumer wants at a time, unless there is room for fewer or ``makeDue()`` is called.
    ///   - gathers: The consumer wants as many bytes at a time as there is room for.
    init(limit: Int, piece: Int = 1, gathers: Bool = false) {
        self.limit = limit
        self.piece = piece
        state = Mutex(State(gathers: gathers))
    }

    func put(_ bytes: UnsafeRawBufferPointer) -> Receipt {
        state.withLock { state in
            guard !state.isClosed, !bytes.isEmpty else { return Receipt(wakesConsumer: false, isFull: false) }
            state.waiting.append(contentsOf: bytes)
            state.held += bytes.count
            if state.held >= limit { state.isStalled = true }
            if state.gathers, !state.isStalled { return Receipt(wakesConsumer: false, isFull: false) }
            guard state.isReady(piece) else { return Receipt(wakesConsumer: false, isFull: false) }
            defer { state.consumerIsAwake = true }
            return Receipt(wakesConsumer: !state.consumerIsAwake, isFull: state.isStalled)
        }
    }

    /// All bytes that wait; `nil` when there are none, or fewer than a piece, and then the consumer counts as asleep.
    func take() -> Data? {
        state.withLock { state in
            guard !state.waiting.isEmpty, state.isReady(piece) else {
                state.consumerIsAwake = false
                return nil
            }
            defer {
                state.waiting = Data()
                state.isDue = false
            }
            return state.waiting
        }
    }

    /// The bytes that wait are to be taken, however few they are. Returns whether the consumer has to be woken for them;
    /// `nil` when there are none.
    func makeDue() -> Bool? {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return nil }
            state.isDue = true
            defer { state.consumerIsAwake = true }
            return !state.consumerIsAwake
        }
    }

    /// All bytes that wait; `nil` when there are none. The consumer counts as asleep: it is woken for later ones.
    func takeAndSleep() -> Data? {
        state.withLock { state in
            state.consumerIsAwake = false
            guard !state.waiting.isEmpty else { return nil }
            defer { state.waiting = Data() }
            return state.waiting
        }
    }

    /// No more bytes follow. True when the consumer has to be woken for those that were gathered.
    func release() -> Bool {
        state.withLock { state in
            state.gathers = false
            guard !state.waiting.isEmpty, !state.consumerIsAwake else { return false }
            state.consumerIsAwake = true
            return true
        }
    }

    /// Whether no bytes wait; then the consumer counts as asleep.
    var isEmpty: Bool {
        state.withLock { state in
            if state.waiting.isEmpty { state.consumerIsAwake = false }
            return state.waiting.isEmpty
        }
    }

    /// The consumer no longer holds `count` bytes. True when reading had stopped and may resume.
    func done(_ count: Int) -> Bool {
        state.withLock { state in
            state.held -= count
            guard state.isStalled, state.held <= limit / 2 else { return false }
            state.isStalled = false
            return true
        }
    }

    /// Drops the bytes that wait, and all that are put in from now on.
    func close() {
        state.withLock { state in
            state.held -= state.waiting.count
            state.waiting = Data()
            state.isDue = false
            state.isClosed = true
        }
    }
}
