internal import Foundation
internal import Purl
internal import PurlTesting

/// The delegate of a cell's session. It keeps the calls for the cell's task, and those that should not have come.
final class Observer: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, Sendable {
    /// What has been seen so far.
    struct Sight: Sendable {
        /// The calls in order, repetitions left out.
        var calls: [Callback] = []
        /// How often the end of the task was reported, and with which error.
        var completions = 0
        var error: (any Error)?
        var response: URLResponse?
        var body = Data()
        /// A download's file was there.
        var hasFile = false
        /// Reads and writes of a stream that have not been answered.
        var waiting = 0
        var readError: (any Error)?
        /// The delegate has a stream task's streams, and receives no more calls for the task.
        var isCaptured = false
        var isInvalid = false
        /// Calls on another queue, two at a time, or after the last one.
        var offences: [String] = []
        var isInside = false
    }

    typealias Hook = @Sendable (Callback, URLSessionTask?) -> Void

    let sight = Monitor(Sight())
    private let queue: OperationQueue?
    private let isAwaited: Bool
    private let hook: Hook
    private let disposition: URLSession.ResponseDisposition
    private let stream: @Sendable () -> InputStream?

    /// - Parameters:
    ///   - queue: The session's delegate queue, on which everything has to come; `nil` in a simulation, which makes one.
    ///   - isAwaited: The task's result goes to an `async` call, past the queue.
    ///   - hook: Runs inside each call.
    init(
        queue: OperationQueue?, isAwaited: Bool, disposition: URLSession.ResponseDisposition,
        stream: @escaping @Sendable () -> InputStream?, hook: @escaping Hook
    ) {
        self.queue = queue
        self.isAwaited = isAwaited
        self.disposition = disposition
        self.stream = stream
        self.hook = hook
    }

    /// The task of a request that only asks whether the session still works.
    static func isFollowUp(_ task: URLSessionTask) -> Bool { task.originalRequest?.url?.path == "/after" }

    /// Keeps a call. `keep` runs before the hook, so that a thread that it wakes finds everything.
    func note(_ call: Callback, _ task: URLSessionTask?, _ keep: @Sendable (inout Sight) -> Void = { _ in }) {
        if let task, Self.isFollowUp(task) { return }
        let isOnQueue = call == .didCreateTask || isOnQueue
        sight.update { sight in
            if !isOnQueue { sight.offences.append("\(call) on another queue") }
            if sight.isInside, call != .didCreateTask { sight.offences.append("\(call) while another call ran") }
            // A read or a write may be asked for when the task is over, and fails then.
            let isAnswer = call == .didRead || call == .didWrite
            if sight.isInvalid, !isAnswer { sight.offences.append("\(call) after the session had become invalid") }
            // Awaiting a result is not for the delegate queue, which may be behind.
            if sight.completions > 0 || sight.isCaptured, task != nil, !isAwaited, !isAnswer {
                sight.offences.append("\(call) after the task was over")
            }
            if call != .didCreateTask { sight.isInside = true }
        }
        hook(call, task)
        sight.update { sight in
            if call != .didCreateTask { sight.isInside = false }
            if sight.calls.last != call { sight.calls.append(call) }
            keep(&sight)
        }
    }

    private var isOnQueue: Bool { queue == nil || OperationQueue.current === queue }

    /// The end of a task that reports to a handler or an `async` call.
    func finish(_ body: Data?, _ response: URLResponse?, _ error: (any Error)?) {
        let isOnQueue = isAwaited || isOnQueue
        sight.update { sight in
            if !isOnQueue { sight.offences.append("the handler on another queue") }
            if sight.isInvalid, !isAwaited { sight.offences.append("the handler after the session had become invalid") }
            sight.completions += 1
            sight.error = error
            sight.response = response
            sight.body = body ?? Data()
            sight.hasFile = body != nil
        }
    }

    // MARK: Waiting

    func over() async {
        await sight.wait { $0.completions > 0 && $0.waiting == 0 }
    }

    func invalid() async {
        await sight.wait(until: \.isInvalid)
    }

    // MARK: The calls

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note(.didBecomeInvalid, nil) { $0.isInvalid = true }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        note(.didFinishEvents, nil)
    }

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        note(.didCreateTask, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        note(.willBeginDelayedRequest, task)
        completionHandler(.continueLoading, nil)
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        note(.taskIsWaitingForConnectivity, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        note(.didReceiveInformationalResponse, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        note(.willPerformHTTPRedirection, task)
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note(.didReceiveChallenge, task)
        completionHandler(.useCredential, URLCredential(user: "user", password: "word", persistence: .none))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        note(.needNewBodyStream, task)
        completionHandler(stream())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note(.didSendBodyData, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        note(.didFinishCollecting, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let response = task.response
        note(.didComplete, task) { sight in
            sight.completions += 1
            sight.error = error
            sight.response = response
        }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        note(.didReceiveResponse, dataTask)
        completionHandler(disposition)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)
    {
        note(.didBecomeDownload, downloadTask)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note(.didReceiveData, dataTask) { $0.body.append(data) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        note(.willCacheResponse, dataTask)
        completionHandler(proposedResponse)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let body = try? Data(contentsOf: location)
        note(.didFinishDownloading, downloadTask) { sight in
            sight.body = body ?? Data()
            sight.hasFile = body != nil
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note(.didWriteData, downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note(.didResumeAtOffset, downloadTask)
    }
}

extension Observer: URLSessionStreamDelegate {
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        note(.readClosed, streamTask)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        note(.writeClosed, streamTask)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        note(.didBecomeStream, streamTask)
    }

    /// The end of the task. The load is over when everything has been read.
    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        note(.didBecomeStreams, streamTask) { $0.isCaptured = true }
        let pair = Pair(input: inputStream, output: outputStream)
        Thread.detachNewThread { [self] in
            let (body, error) = pair.readAll()
            sight.update { sight in
                sight.completions += 1
                sight.body = body
                sight.error = error
            }
        }
    }

    /// `@unchecked Sendable`: handed to a thread, which alone has the streams from then on.
    private struct Pair: @unchecked Sendable {
        let input: InputStream
        let output: OutputStream

        func readAll() -> (Data, (any Error)?) {
            input.open()
            output.open()
            output.close()
            defer { input.close() }
            var body = Data()
            var buffer = [UInt8](repeating: 0, count: 10_000)
            while case let count = input.read(&buffer, maxLength: buffer.count), count > 0 { body += buffer[..<count] }
            return (body, input.streamError)
        }
    }
}
