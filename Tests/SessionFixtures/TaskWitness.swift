import Foundation
import Purl
import Synchronization

/// A delegate that records the calls about a task's course, in order.
final class TaskWitness: NSObject, RecordingDelegate, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    enum Event: DelegateCall {
        case created
        case delayed(path: String)
        case waiting
        case interim(Int)
        case response(Int)
        case data(Int)
        case file
        case metrics(transactions: Int)
        case completed(URLError.Code?)

        var isCompletion: Bool { if case .completed = self { true } else { false } }
    }

    typealias Beginning = @Sendable (URLRequest) -> (URLSession.DelayedRequestDisposition, URLRequest?)
    typealias Challenge =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    let record = CallRecord<Event>()
    private let responses = Mutex<[HTTPURLResponse]>([])
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

    var informational: [HTTPURLResponse] { responses.withLock { $0 } }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        record.append(.created, of: task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        record.append(.delayed(path: request.url?.path ?? ""), of: task)
        let (disposition, new) = beginning(request)
        completionHandler(disposition, new)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        record.append(.waiting, of: task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        responses.withLock { $0.append(response) }
        record.append(.interim(response.statusCode), of: task)
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
        record.append(.response((response as? HTTPURLResponse)?.statusCode ?? 0), of: dataTask)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        record.append(.data(data.count), of: dataTask)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        record.append(.file, of: downloadTask)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        record.append(.metrics(transactions: metrics.transactionMetrics.count), of: task, metrics)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        record.complete(task, error)
    }
}
