import Foundation
import Purl
import Synchronization

/// A call of a delegate, with the arguments that tests compare.
protocol DelegateCall: Hashable, Sendable {
    /// The last call about a task.
    static func completed(_ code: URLError.Code?) -> Self

    var isCompletion: Bool { get }
}

/// The calls of a delegate, in order.
final class CallRecord<Call: DelegateCall>: Sendable {
    private struct State {
        var tasks: [Int] = []
        var errors: [(task: Int, error: URLError)] = []
        var metrics: [URLSessionTaskMetrics] = []
    }

    private let log = EventLog<Call>()
    private let state = Mutex(State())

    var calls: [Call] { log.events }
    /// The identifier of each call's task.
    var tasks: [Int] { state.withLock { $0.tasks } }
    var metrics: [URLSessionTaskMetrics] { state.withLock { $0.metrics } }
    var lastError: URLError? { state.withLock { $0.errors.last?.error } }

    func error(of task: URLSessionTask) -> URLError? {
        state.withLock { state in state.errors.last { $0.task == task.taskIdentifier }?.error }
    }

    /// Returns when the calls fulfil the condition, or when the test is cancelled, as by its time limit.
    func wait(until condition: @escaping @Sendable ([Call]) -> Bool) async { await log.wait(until: condition) }

    /// - Parameter join: One call for the last one and this one together; nil keeps both.
    func append(_ call: Call, of task: URLSessionTask? = nil, joining join: (_ last: Call) -> Call? = { _ in nil }) {
        if let task { state.withLock { $0.tasks.append(task.taskIdentifier) } }
        log.append(call, joining: join)
    }

    func append(_ call: Call, of task: URLSessionTask, _ metrics: URLSessionTaskMetrics) {
        state.withLock { $0.metrics.append(metrics) }
        append(call, of: task)
    }

    func complete(_ task: URLSessionTask, _ error: (any Error)?) {
        if let error = error as? URLError { state.withLock { $0.errors.append((task.taskIdentifier, error)) } }
        append(.completed((error as? URLError)?.code), of: task)
    }
}

/// A delegate that records its calls.
protocol RecordingDelegate: Sendable {
    associatedtype Event: DelegateCall

    var record: CallRecord<Event> { get }
}

extension RecordingDelegate {
    var events: [Event] { record.calls }
    /// The error of the task that failed last.
    var error: URLError? { record.lastError }
    var metrics: [URLSessionTaskMetrics] { record.metrics }
    /// How many tasks have completed.
    var completions: Int { events.count(where: \.isCompletion) }

    func wait(until condition: @escaping @Sendable ([Event]) -> Bool) async { await record.wait(until: condition) }

    /// Returns when `count` tasks have completed.
    func completion(of count: Int = 1) async { await wait { $0.count(where: \.isCompletion) >= count } }
}
