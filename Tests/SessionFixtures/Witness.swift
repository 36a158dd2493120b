import Foundation
import Purl
import Synchronization
import Testing

/// A delegate that records its calls in order, and answers as the test wants.
final class Witness: NSObject, RecordingDelegate, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    /// One call, with the arguments that tests compare.
    enum Event: DelegateCall {
        case redirect(Int, to: String)
        /// The challenge's method and realm.
        case challenge(String, String?, failures: Int)
        case response(Int)
        /// Adjacent calls are joined: the portions of the bytes are not specified.
        case data(Int)
        case becameDownload
        case resumed(at: Int64, of: Int64)
        /// Adjacent calls are joined; the counts are those of the last one.
        case wrote(Int64, of: Int64)
        case file(Int)
        case sent(Int64, of: Int64)
        case neededStream
        case completed(URLError.Code?)
        case invalid
        case eventsFinished

        var isCompletion: Bool { if case .completed = self { true } else { false } }
    }

    typealias RedirectAnswer = @Sendable (URLRequest) -> URLRequest?
    typealias ChallengeAnswer =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)
    typealias StreamAnswer = @Sendable () -> InputStream?
    typealias Hook = @Sendable (URLSessionTask, Event) -> Void

    private struct State {
        var data: [Int: Data] = [:]
        var files: [Int: Data] = [:]
    }

    let record = CallRecord<Event>()
    private let state = Mutex(State())
    private let disposition: URLSession.ResponseDisposition
    private let redirect: RedirectAnswer
    private let challenge: ChallengeAnswer
    private let stream: StreamAnswer
    private let hook: Hook

    /// - Parameters:
    ///   - disposition: The answer to every response.
    ///   - redirect: The answer to every redirect.
    ///   - challenge: The answer to every challenge.
    ///   - stream: The answer when a body's stream is needed.
    ///   - hook: Runs inside each call, before it returns.
    init(
        disposition: URLSession.ResponseDisposition = .allow,
        redirect: @escaping RedirectAnswer = { $0 },
        challenge: @escaping ChallengeAnswer = { _ in (.performDefaultHandling, nil) },
        stream: @escaping StreamAnswer = { nil },
        hook: @escaping Hook = { _, _ in }
    ) {
        self.disposition = disposition
        self.redirect = redirect
        self.challenge = challenge
        self.stream = stream
        self.hook = hook
    }

    // MARK: Recorded calls

    func data(of task: URLSessionTask) -> Data { state.withLock { $0.data[task.taskIdentifier] ?? Data() } }
    func file(of task: URLSessionTask) -> Data? { state.withLock { $0.files[task.taskIdentifier] } }
    func error(of task: URLSessionTask) -> URLError? { record.error(of: task) }

    private func append(_ event: Event, _ task: URLSessionTask?, keep: (inout State) -> Void = { _ in }) {
        if let task { hook(task, event) }
        state.withLock { keep(&$0) }
        record.append(event, of: task) { last in
            switch (last, event) {
            case (.data(let before), .data(let more)): .data(before + more)
            case (.wrote, .wrote), (.sent, .sent): event
            default: nil
            }
        }
    }

    // MARK: Delegate methods

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        append(.invalid, nil)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        append(.eventsFinished, nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        append(.redirect(response.statusCode, to: request.url?.path ?? ""), task)
        completionHandler(redirect(request))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        let method = space.authenticationMethod.replacingOccurrences(of: "NSURLAuthenticationMethodHTTP", with: "")
        append(.challenge(method, space.realm, failures: challenge.previousFailureCount), task)
        let (disposition, credential) = self.challenge(challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        append(.neededStream, task)
        completionHandler(stream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        append(.sent(totalBytesSent, of: totalBytesExpectedToSend), task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        hook(task, .completed((error as? URLError)?.code))
        record.complete(task, error)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        append(.response((response as? HTTPURLResponse)?.statusCode ?? 0), dataTask)
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)
    {
        append(.becameDownload, dataTask)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        append(.data(data.count), dataTask) { $0.data[dataTask.taskIdentifier, default: Data()].append(data) }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let contents: Data
        do {
            contents = try Data(contentsOf: location)
        } catch {
            Issue.record(error)
            contents = Data()
        }
        append(.file(contents.count), downloadTask) { $0.files[downloadTask.taskIdentifier] = contents }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        append(.wrote(totalBytesWritten, of: totalBytesExpectedToWrite), downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        append(.resumed(at: fileOffset, of: expectedTotalBytes), downloadTask)
    }
}
