import Foundation
import Synchronization

/// A delegate that writes down its calls, one phrase for each, and answers as its scenario wants.
final class Recorder: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    typealias ChallengeAnswer =
        @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?)

    private struct State {
        var calls: [String] = []
        var body = Data()
        var error: (any Error)?
        var metrics: [URLSessionTaskMetrics] = []
        var completions = 0
        var isInvalid = false
        var waiters: [(isReady: @Sendable (borrowing State) -> Bool, resume: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())
    private let disposition: URLSession.ResponseDisposition
    private let redirect: @Sendable (URLRequest) -> URLRequest?
    private let challenge: ChallengeAnswer
    private let stream: @Sendable () -> InputStream?
    private let onData: @Sendable (URLSessionTask) -> Void
    private let keeping: @Sendable (CachedURLResponse) -> CachedURLResponse?

    init(
        disposition: URLSession.ResponseDisposition = .allow,
        redirect: @escaping @Sendable (URLRequest) -> URLRequest? = { $0 },
        challenge: @escaping ChallengeAnswer = { _ in (.performDefaultHandling, nil) },
        stream: @escaping @Sendable () -> InputStream? = { nil },
        onData: @escaping @Sendable (URLSessionTask) -> Void = { _ in },
        keeping: @escaping @Sendable (CachedURLResponse) -> CachedURLResponse? = { $0 }
    ) {
        self.disposition = disposition
        self.redirect = redirect
        self.challenge = challenge
        self.stream = stream
        self.onData = onData
        self.keeping = keeping
    }

    var calls: [String] { state.withLock { $0.calls } }
    var text: String { state.withLock { String(decoding: $0.body, as: UTF8.self) } }
    var byteCount: Int { state.withLock { $0.body.count } }
    var error: (any Error)? { state.withLock { $0.error } }
    /// The metrics of all tasks, in the order in which they arrived.
    var metrics: [URLSessionTaskMetrics] { state.withLock { $0.metrics } }

    /// Returns when so many tasks have completed.
    func completion(of count: Int = 1) async {
        await wait { $0.completions >= count }
    }

    /// Returns when the first bytes of a download have been written.
    func firstBytes() async {
        await wait { $0.calls.contains { $0.hasPrefix("wrote") } }
    }

    func invalidation() async {
        await wait { $0.isInvalid }
    }

    private func wait(until isReady: @escaping @Sendable (borrowing State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                if isReady(state) { return true }
                state.waiters.append((isReady, continuation))
                return false
            }
            if ready { continuation.resume() }
        }
    }

    /// Neighbouring calls that report the same are one: how bytes are cut into calls does not matter.
    private func add(_ call: String, joining prefix: String? = nil, change: (inout State) -> Void = { _ in }) {
        let ready = state.withLock { state in
            change(&state)
            if let prefix, let last = state.calls.last, last.hasPrefix(prefix) {
                state.calls[state.calls.count - 1] = call
            } else {
                state.calls.append(call)
            }
            let ready = state.waiters.filter { $0.isReady(state) }.map(\.resume)
            if !ready.isEmpty { state.waiters = [] }
            return ready
        }
        for continuation in ready { continuation.resume() }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        add("invalid") { $0.isInvalid = true }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        add("redirect \(response.statusCode) to \(request.httpMethod ?? "nil") \(request.url?.relativePath ?? "nil")")
        completionHandler(redirect(request))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        add("challenge \(space.authenticationMethod) \(space.realm ?? "nil") \(challenge.previousFailureCount)")
        let (disposition, credential) = self.challenge(challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        add("need a stream")
        completionHandler(stream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        add("sent \(totalBytesSent) of \(totalBytesExpectedToSend)", joining: "sent")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let code = error.map { " \(($0 as NSError).code)" } ?? ""
        add("completed\(code)") { state in
            state.error = error
            state.completions += 1
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        add("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)
    {
        add("became download")
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        add("data", joining: "data") { $0.body.append(data) }
        onData(dataTask)
    }

    /// Not among the calls: it is not seen where nothing is stored.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(keeping(proposedResponse))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        state.withLock { $0.metrics.append(metrics) }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let contents = (try? Data(contentsOf: location)) ?? Data()
        add("file") { $0.body = contents }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        add("wrote \(totalBytesWritten) of \(totalBytesExpectedToWrite)", joining: "wrote")
        onData(downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        add("resumed at \(fileOffset) of \(expectedTotalBytes)")
    }
}
