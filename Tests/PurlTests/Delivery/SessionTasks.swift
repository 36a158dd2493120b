import Foundation
import Purl

/// What a session says of its tasks.
enum SessionTasks {
    /// The tasks that are not over, asked on the delegate queue: every call made before has returned.
    static func unfinished(of session: URLSession) async -> [URLSessionTask] {
        await withCheckedContinuation { continuation in
            session.getAllTasks { continuation.resume(returning: $0) }
        }
    }

    /// Returns when no task is left.
    static func areOver(of session: URLSession) async {
        while await !unfinished(of: session).isEmpty { await Task.yield() }
    }
}
