import Foundation
internal import PurlIO
import Synchronization

/// Lets one task at a time write to a sink.
///
/// All tasks that are given the sink make their calls on one queue. So a task that follows one which was just cancelled finds
/// the sink closed, and one that comes while another writes is refused.
package final class SinkTurn: Sendable {
    private struct State {
        var queue: WorkQueue?
        /// What writes, or has examined the sink and may write.
        weak var writer: (any AnyObject & Sendable)?
    }

    private let state = Mutex(State())

    package init() {}

    /// The queue of all tasks that write to the sink, made for the first of them.
    func queue(orNew make: () -> WorkQueue) -> WorkQueue {
        state.withLock { state in
            let queue = state.queue ?? make()
            state.queue = queue
            return queue
        }
    }

    /// Begins a writer's turn, which may have begun already. Throws while it is another's.
    func begin(_ writer: any AnyObject & Sendable) throws {
        let isFree = state.withLock { state in
            if state.writer == nil { state.writer = writer }
            return state.writer === writer
        }
        guard isFree else { throw CocoaError(.fileLocking, userInfo: [NSLocalizedDescriptionKey: Self.refusal]) }
    }

    /// Ends a writer's turn.
    ///
    /// - Returns: Whether it was that writer's.
    func end(_ writer: any AnyObject & Sendable) -> Bool {
        state.withLock { state in
            guard state.writer === writer else { return false }
            state.writer = nil
            return true
        }
    }

    private static let refusal = "another task is writing to the same sink"
}
