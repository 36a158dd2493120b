import Foundation
import Purl

/// The unfinished tasks of a session.
enum SessionTasks {
    /// The unfinished tasks, asked on the delegate queue: every earlier call has returned.
    static func unfinished(of session: URLSession) async -> [URLSessionTask] {
        await withCheckedContinuation { continuation in
            session.getAllTasks { continuation.resume(returning: $0) }
        }
    }

    /// Returns when every task has completed, or when the test is cancelled: looks whenever the delegate queue has made
    /// its calls.
    static func waitUntilCompleted(of session: URLSession) async {
        while await !unfinished(of: session).isEmpty, !Task.isCancelled { await NetworkThread.settle() }
    }
}

extension URLSessionTask {
    /// Resumes the task, and returns it.
    func resumed() -> Self {
        resume()
        return self
    }
}
