import Foundation
import Purl
import Synchronization

/// A delegate that records the calls about a task's course, in order.
final class TaskWitness: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    enum Event: Hashable, Sendable {
        case created
        case delayed(path: String)
        case waiting
        case interim(Int)
        case response(Int)
        case data(Int)
        case file
        case metrics(transactions: Int)
        case completed(URLError.Code?)
    }

    typealias Beginning = @Sendable (URLRequest) -> (URLSession.DelayedRequestDisposition, URLRequest?)
    typealias Challenge =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    private struct State {
        var tasks: [Int] = []
        var metrics: [URLSessionTaskMetrics] = []
        var informational: [HTTPURLResponse] = []
    }

    private let log = EventLog<Event>()
    private let state = Mutex(State())
    private let beginning: Beginning
    private let challenge: Challenge
    private let redirect: @Sendable (URLRequest) -> URLRequest?

    init(
        beginning: @escaping Beginning = { _ in (.continueLoading, nil) },
        challenge: @escaping Challenge = { _ in (.performDefaultHandling, nil) },
        redirect: @escaping @Sendable (URLRequest) -> URLRequest? = { $0 }
    ) {
        self.beginning = beginning
        self.challenge = challenge
        self.redirect = redirect
    }

    var events: [Event] { log.events }
    /// The identifier of each event's task.
    var identifiers: [Int] { state.withLock { $0.tasks } }
    var metrics: [URLSessionTaskMetrics] { state.withLock { $0.metrics } }
    var informational: [HTTPURLResponse] { state.withLock { $0.informational } }

    func wait(until condition: @escaping @Sendable ([Event]) -> Bool) async {
        await log.wait(until: condition)
    }

    func completion(of count: Int = 1) async {
        await wait { events in events.count { if case .completed = $0 { true } else { false } } >= count }
    }

    private func append(_ event: Event, _ task: URLSessionTask, _ keep: (inout State) -> Void = { _ in }) {
        state.withLock { state in
            keep(&state)
            state.tasks.append(task.taskIdentifier)
        }
        log.append(event)
    }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        append(.created, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        append(.delayed(path: request.url?.path ?? ""), task)
        let (disposition, new) = beginning(request)
        completionHandler(disposition, new)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        append(.waiting, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        append(.interim(response.statusCode), task) { $0.informational.append(response) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(redirect(request))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential) = self.challenge(challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        append(.response((response as? HTTPURLResponse)?.statusCode ?? 0), dataTask)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        append(.data(data.count), dataTask)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        append(.file, downloadTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        append(.metrics(transactions: metrics.transactionMetrics.count), task) { $0.metrics.append(metrics) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        append(.completed((error as? URLError)?.code), task)
    }
}
