import Foundation
import Purl

/// A delegate that holds the completion handler of each response until the test calls `allow()`.
final class HoldingDelegate: NSObject, URLSessionDataDelegate, Sendable {
    typealias Answer = @Sendable (URLSession.ResponseDisposition) -> Void

    struct Ending: Sendable {
        var data = Data()
        var error: URLError?
    }

    private struct State {
        var answers: [Answer] = []
        var answersAtOnce = false
        var endings: [Int: Ending] = [:]
    }

    /// Set at the first response.
    let hasResponse = Signal()
    /// Set when as many tasks have completed as there are.
    let hasCompleted = Signal()
    private let count: Int
    private let state = LockedValue(State())
    private let over = LockedValue(0)

    /// - Parameter count: The number of tasks.
    init(tasks count: Int) { self.count = count }

    /// Allows every response, later ones included.
    func allow() {
        let answers = state.withLock { state in
            state.answersAtOnce = true
            defer { state.answers = [] }
            return state.answers
        }
        for answer in answers { answer(.allow) }
    }

    func ending(of task: URLSessionTask) -> Ending { state.withLock { $0.endings[task.taskIdentifier] ?? Ending() } }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping Answer
    ) {
        let answersNow = state.withLock { state in
            if !state.answersAtOnce { state.answers.append(completionHandler) }
            return state.answersAtOnce
        }
        if answersNow { completionHandler(.allow) }
        hasResponse.set()
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { $0.endings[dataTask.taskIdentifier, default: Ending()].data.append(data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        state.withLock { $0.endings[task.taskIdentifier, default: Ending()].error = error as? URLError }
        let isLast = over.withLock { over in
            over += 1
            return over == count
        }
        if isLast { hasCompleted.set() }
    }
}
