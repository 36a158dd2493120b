import Foundation
import Synchronization

/// The delegate methods that a delegate may write in either of two forms: with a completion handler, or `async`.
///
/// A session calls the form with the handler. Its default implementation, which a class has that does not write that form,
/// calls the other one; and where a class has neither, the call goes to the session's delegate, or the default answer counts.
/// The default implementation of the `async` form cannot be told from a class's own before it is called: it reports itself as
/// missing then, once for each class.
enum AsyncDelegateMethod: Hashable, Sendable {
    case sessionChallenge
    case taskChallenge
    case redirect
    case delayedRequest
    case bodyStream
    case bodyStreamFromOffset
    case response
    case caching

    /// A class that has neither form of a method.
    private struct Absence: Hashable {
        let delegate: ObjectIdentifier
        let method: AsyncDelegateMethod
    }

    /// A call of the `async` form, which finds out whether a class has it.
    final class Inquiry: Sendable {
        private let delegate: ObjectIdentifier
        private let method: AsyncDelegateMethod
        private let found = Mutex(true)

        fileprivate init(_ delegate: AnyObject, _ method: AsyncDelegateMethod) {
            self.delegate = ObjectIdentifier(delegate)
            self.method = method
        }

        fileprivate var hasFound: Bool { found.withLock { $0 } }

        fileprivate func fail(_ method: AsyncDelegateMethod, of delegate: AnyObject) {
            // A delegate's own form may call another delegate's.
            guard method == self.method, ObjectIdentifier(delegate) == self.delegate else { return }
            found.withLock { $0 = false }
        }
    }

    @TaskLocal private static var inquiry: Inquiry?
    private static let absences = Mutex<Set<Absence>>([])

    /// Answers with the `async` form of a method, where the delegate's class has it. It begins within this call, on the
    /// delegate queue.
    ///
    /// - Parameters:
    ///   - delegate: The delegate, whose class does not have the form with a handler.
    ///   - form: Calls the `async` form.
    ///   - answer: Takes its answer.
    ///   - otherwise: Answers where the class does not have that form either.
    func answer<Answer>(
        for delegate: some AnyObject & Sendable, _ form: @escaping @Sendable () async -> Answer,
        to answer: @escaping @Sendable (Answer) -> Void, otherwise: @escaping @Sendable () -> Void
    ) {
        let absence = Absence(delegate: ObjectIdentifier(type(of: delegate)), method: self)
        guard !Self.absences.withLock({ $0.contains(absence) }) else { return otherwise() }
        let inquiry = Inquiry(delegate, self)
        let call: @Sendable () async -> Void = {
            let result = await Self.$inquiry.withValue(inquiry) { await form() }
            if inquiry.hasFound { return answer(result) }
            _ = Self.absences.withLock { $0.insert(absence) }
            otherwise()
        }
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate { await call() }
        } else {
            Task { await call() }
        }
    }

    /// The default implementation of the `async` form was called: the delegate's class does not have it.
    ///
    /// - Parameter delegate: The delegate.
    func isMissing(in delegate: some AnyObject) {
        Self.inquiry?.fail(self, of: delegate)
    }
}

extension URLSession {
    /// The session's delegate, which receives the calls whose method a task's own delegate does not have; `nil` where that
    /// has been called already.
    ///
    /// - Parameters:
    ///   - delegate: The delegate whose class does not have the method.
    ///   - task: The task that the call is about.
    func delegate<Delegate>(after delegate: AnyObject, of task: URLSessionTask) -> Delegate? {
        // Only the task's own: a delegate that another one calls has no successor.
        guard let own = task.delegate, own === delegate, let next = self.delegate, next !== delegate else { return nil }
        return next as? Delegate
    }
}
