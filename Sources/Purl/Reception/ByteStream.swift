import Foundation
internal import PurlIO
import Synchronization

/// The buffer between a transfer and a consumer that awaits its bytes: the response, then bytes, then the end.
///
/// Bytes that were taken count until more are asked for, so that a slow consumer stops the socket from being read.
final class ByteStream: Sendable {
    private struct State {
        /// Waits for the response.
        var opening: CheckedContinuation<URLResponse, any Error>?
        /// Wait for bytes, or for the end.
        var waiters: [CheckedContinuation<Void, Never>] = []
        var mailbox: ByteMailbox
        var end: Result<Void, any Error>?
        var readOn: (@Sendable () -> Void)?
        /// The consumer has dropped the rest.
        var isDiscarded = false
    }

    private let state: Mutex<State>

    init(limit: Int) {
        state = Mutex(State(mailbox: ByteMailbox(limit: limit)))
    }

    // MARK: The transfer's side

    /// - Parameter readOn: Called when there is room again after `put` has returned true. From any thread.
    func open(for response: URLResponse, readOn: @escaping @Sendable () -> Void) {
        let opening = state.withLock { state in
            defer { state.opening = nil }
            state.readOn = readOn
            return state.opening
        }
        opening?.resume(returning: response)
    }

    /// Takes bytes. True when reading has to stop until there is room.
    func put(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isFull, waiters) = state.withLock { state in
            let receipt = state.mailbox.put(bytes)
            defer { if receipt.wakesConsumer { state.waiters = [] } }
            return (receipt.isFull, receipt.wakesConsumer ? state.waiters : [])
        }
        for waiter in waiters { waiter.resume() }
        return isFull
    }

    /// Takes the end, after what has been put.
    func close(_ error: (any Error)?) {
        let (opening, waiters) = state.withLock { state in
            defer {
                state.opening = nil
                state.waiters = []
                state.readOn = nil
            }
            state.end = error.map { .failure($0) } ?? .success(())
            return (state.opening, state.waiters)
        }
        opening?.resume(throwing: error ?? URLError(.unknown))
        for waiter in waiters { waiter.resume() }
    }

    // MARK: The consumer's side

    /// Waits for the response.
    ///
    /// - Parameter begin: Starts the transfer. Not called when it was cancelled before.
    func response(_ begin: () -> Void) async throws -> URLResponse {
        let response = try await withCheckedThrowingContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.opening = continuation }
                return state.end
            }
            switch end {
            case nil: begin()
            case .success: continuation.resume(throwing: TransferFailure.cancelled.urlError(for: nil))
            case .failure(let error): continuation.resume(throwing: error)
            }
        }
        // The response often arrives before the consumer waits. The thread sanitizer then does not see the continuation
        // hand it over, but sees the lock do it.
        state.withLock { _ in }
        return response
    }

    /// The bytes that have arrived since the last call, at least one; `nil` at the end of the body.
    ///
    /// - Parameters:
    ///   - count: How many bytes of earlier calls the consumer is done with.
    ///   - cancel: Ends the transfer; called when the surrounding `Task` is cancelled.
    func next(
        after count: Int, isolation: isolated (any Actor)?, cancel: @escaping @Sendable () -> Void
    ) async throws -> [UInt8]? {
        if count > 0 { done(count) }
        return try await withTaskCancellationHandler(
            operation: {
                while true {
                    if let bytes = try take() { return bytes.isEmpty ? nil : bytes }
                    await withCheckedContinuation(isolation: isolation) { wait($0) }
                }
            }, onCancel: cancel, isolation: isolation)
    }

    private func done(_ count: Int) {
        let readOn = state.withLock { $0.mailbox.done(count) ? $0.readOn : nil }
        readOn?()
    }

    /// No bytes at the end; `nil` while there is more to wait for.
    private func take() throws -> [UInt8]? {
        let (data, end, isDiscarded) = state.withLock { ($0.mailbox.take(), $0.end, $0.isDiscarded) }
        if let data { return [UInt8](data) }
        guard let end else { return nil }
        // The transfer ended before it was cancelled, and `discard` has dropped bytes that are missing here.
        if isDiscarded, case .success = end { throw TransferFailure.cancelled.urlError(for: nil) }
        try end.get()
        return []
    }

    private func wait(_ continuation: CheckedContinuation<Void, Never>) {
        let isReady = state.withLock { state in
            guard state.end == nil, state.mailbox.isEmpty else { return true }
            state.waiters.append(continuation)
            return false
        }
        if isReady { continuation.resume() }
    }

    /// Drops what was not taken.
    func discard() {
        state.withLock { state in
            state.isDiscarded = true
            state.mailbox.close()
        }
    }
}
