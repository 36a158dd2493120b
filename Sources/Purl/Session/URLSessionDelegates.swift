import Foundation

// All delegate methods run on the session's `delegateQueue`, one at a time, in the order in which things happened.

/// What a session tells its delegate about itself.
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session is invalid: its tasks are done and this is the last call. Called once; the delegate is released
    /// afterwards.
    ///
    /// - Parameter error: `nil` when the session was invalidated on purpose. A background session is invalid from the
    ///   start when its identifier is in use (`.backgroundSessionInUseByAnotherProcess`) or its folder unusable.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// Somebody asks for credentials that concern the whole session: a certificate, or those of a connection. Not called
    /// today: that takes TLS, NTLM or Negotiate, which Purl does not speak. A user and a password, by Basic or Digest,
    /// are asked for with the task's method, ``URLSessionTaskDelegate/urlSession(_:task:didReceive:completionHandler:)``.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// A background session's tasks that were running when an earlier process ended have all had their last call. Not
    /// called when there were none.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession)
}

extension URLSessionDelegate {
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}

    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }

    public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}
}

/// What a session tells its delegate about any task.
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A task was made; the first call about it. Of those that an `async` method makes its own delegate is told, where
    /// it has one.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

    /// A task's ``URLSessionTask/earliestBeginDate`` has come. Nothing goes on until the handler is called: with
    /// `.continueLoading`, with `.useNewRequest` and another request, or with `.cancel`.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    )

    /// No connection could be made, and the task waits for the network; see
    /// ``URLSessionConfiguration/waitsForConnectivity``. Called once at most for a task.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// An interim response came (RFC 9110 §15.2): 100, 102, 103, any 1xx but 101. The final one is still to come.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    )

    /// The server answered with a redirect (RFC 9110 §15.4). Nothing goes on until the handler is called: with
    /// `request` to follow, with another request to go there instead, with `nil` to take the redirect response
    /// itself, body included, as the result.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )

    /// The server wants to know who asks, and nothing that is known (from the URL, earlier requests, the credential
    /// storage) would do. Nothing goes on until the handler is called, or one method of the challenge's sender; the
    /// first answer counts, from any thread. Called for tasks with a completion handler too.
    ///
    /// A response with several challenges asks about the safest: Digest with SHA-256, then with MD5, then Basic. A
    /// credential that has been refused twice is not tried a third time: the response that refused it is the result.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// A stream is needed to read the request's body from: the first one of a task made with
    /// ``URLSession/uploadTask(withStreamedRequest:)``, or another one because the body has to be sent again, after a
    /// redirect say. Nothing goes on until the handler is called; `nil` ends the task with
    /// `URLError.requestBodyStreamExhausted`, unless the request has a stream that has not been read from.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// Bytes of the request's body were handed to the system. Calls that would pile up behind a busy queue are merged
    /// into one.
    ///
    /// - Parameters:
    ///   - bytesSent: Bytes since the last call.
    ///   - totalBytesSent: Bytes sent so far. They begin again at 0 when the body is sent again.
    ///   - totalBytesExpectedToSend: The body's length, or ``NSURLSessionTransferSizeUnknown`` when nobody knows it.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    /// The task is over: how it went. The last call but one, made for tasks with a completion handler as well, before
    /// that is called.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// The last call about a task, made exactly once. `error` is `nil` on success, whatever the status code.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

extension URLSessionTaskDelegate {
    public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {}

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        completionHandler(.continueLoading, nil)
    }

    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {}

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {}

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(request)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(nil)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
}

/// What a session tells its delegate about data tasks.
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// The head of the response is here. No byte of the body is read until the handler is called.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )

    /// The answer `.becomeDownload` took effect: this was the last call about `dataTask`, and `downloadTask`,
    /// already running, goes on with the same response.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    )

    /// The answer `.becomeStream` took effect: this was the last call about `dataTask`, and `streamTask`, already
    /// running, has the connection. What comes after the head of the response is what it reads first.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome streamTask: URLSessionStreamTask
    )

    /// Bytes of the body arrived. While this method runs, the session reads at most
    /// `maximumBufferedBytesPerTask` ahead; then the server waits.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

    /// The whole response has come, and the session's cache would store it. Answer with it, with a changed one, or with
    /// `nil` to have nothing stored; the task's completion does not wait for the answer. Not called for responses that
    /// may not be stored or are too large, for those that come from the cache, and for tasks with a completion handler.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    )
}

extension URLSessionDataDelegate {
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
    }

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {}

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome streamTask: URLSessionStreamTask
    ) {}

    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(proposedResponse)
    }
}

/// What a session tells its delegate about download tasks.
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// The whole body is in the file at `location`. The file is removed when this method returns, unless it was
    /// moved or opened by then.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didFinishDownloadingTo location: URL
    )

    /// Bytes were written to the partial file. Calls that would pile up behind a busy queue are merged into one.
    ///
    /// - Parameters:
    ///   - bytesWritten: Bytes since the last call.
    ///   - totalBytesWritten: Bytes in the file, those of earlier attempts included.
    ///   - totalBytesExpectedToWrite: The length of the whole resource, or
    ///     ``NSURLSessionTransferSizeUnknown`` when the server did not say.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )

    /// A download made from resume data goes on at `fileOffset`; 0 when it had to start over because the resource
    /// changed or the partial file could not be trusted.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    )
}

extension URLSessionDownloadDelegate {
    public func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    ) {}

    public func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {}
}
