import Foundation
import Purl
import Synchronization

/// A session that has a number, which its delegate still knows when the session has forgotten the delegate.
///
/// `@unchecked Sendable` as its superclass is; what it adds is behind a `Mutex`, or does not change.
final class NumberedSession: URLSession, @unchecked Sendable {
    private static let last = Mutex(0)

    let number = NumberedSession.last.withLock { last in
        last += 1
        return last
    }
    private let isInside = Mutex(false)

    /// The books' name for a task.
    func key(_ task: URLSessionTask) -> Ledger.Key { Ledger.Key(session: number, task: task.taskIdentifier) }

    /// A call to a delegate begins. False when another one has not ended.
    func enter() -> Bool {
        isInside.withLock { isInside in
            defer { isInside = true }
            return !isInside
        }
    }

    func leave() { isInside.withLock { $0 = false } }
}
