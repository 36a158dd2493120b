import Foundation
import Purl

/// A delegate that keeps the question about each response until its test answers.
final class HesitantDelegate: NSObject, URLSessionDataDelegate, Sendable {
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

    /// Set when the first question has come.
    let wasAsked = Signal()
    /// Set when so many tasks are over as the test waits for.
    let isOver = Signal()
    private let count: Int
    private let state = LoadBox(State())
    private let over = LoadBox(0)

    /// - Parameter count: How many tasks there will be.
    init(tasks count: Int) { self.count = count }

    /// Lets everything go on, what is asked later included.
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
        wasAsked.set()
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
        if isLast { isOver.set() }
    }
}
