import Foundation

// All delegate methods but one run on the session's `delegateQueue`, one at a time, in the order of the events. The default
// implementations of a task's own delegate call the session's delegate, method by method. Where there is an `async` form, a
// delegate has that one or the one with a handler.

/// The delegate methods about a session itself.
public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    /// The session is invalid: its tasks are over, and this is the last call. Called once; the delegate is released
    /// afterwards.
    ///
    /// - Parameter error: `nil` when the program invalidated the session. A background session is invalid from the start when
    ///   its identifier is in use (`.backgroundSessionInUseByAnotherProcess`) or its folder unusable.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// A server has to be trusted (``NSURLAuthenticationMethodServerTrust``): called once for each secure connection, before
    /// anything is sent over it; see <doc:TLS>. A delegate without this method is asked with the task's method,
    /// ``URLSessionTaskDelegate/urlSession(_:task:didReceive:completionHandler:)``, which is also the one for a user and a
    /// password.
    ///
    /// - Parameter completionHandler: Takes the answer.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Returns: The answer.
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

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
        AsyncDelegateMethod.sessionChallenge.answer(for: self) {
            await self.urlSession(session, didReceive: challenge)
        } to: {
            completionHandler($0.0, $0.1)
        } otherwise: {
            if (challenge.sender as? ChallengeSender)?.methodIsMissing() == true { return }
            completionHandler(.performDefaultHandling, nil)
        }
    }

    public func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        AsyncDelegateMethod.sessionChallenge.isMissing(in: self)
        return (.performDefaultHandling, nil)
    }

    public func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {}
}

/// The delegate methods about tasks of every kind.
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// A task was created; the first call about it, and the place to configure it before it is resumed. For a task of an
    /// `async` method the task's own delegate receives it, if there is one.
    ///
    /// The only call that is not made on the delegate queue: it is made on the thread that creates the task, before the
    /// session's method returns it.
    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask)

    /// A task's ``URLSessionTask/earliestBeginDate`` has come. The task waits until the handler is called: with
    /// `.continueLoading`, with `.useNewRequest` and another request, or with `.cancel`.
    ///
    /// - Parameters:
    ///   - request: The request the task was made with.
    ///   - completionHandler: Takes the answer.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Parameter request: The request the task was made with.
    /// - Returns: The answer.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?)

    /// No connection could be made, and the task waits for the network; see
    /// ``URLSessionConfiguration/waitsForConnectivity``. Called once at most for a task, never in a background session.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// An interim response arrived (RFC 9110 §15.2): 100, 102, 103, any 1xx but 101. The final one is still to come.
    ///
    /// - Parameter response: The interim response.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    )

    /// The server sent a redirect (RFC 9110 §15.4). The task waits until the handler is called: with `request` to
    /// follow it, with another request to load that instead, with `nil` to take the redirect response itself, body
    /// included, as the result. Not called in a background session, which follows redirects.
    ///
    /// - Parameters:
    ///   - response: The redirect response.
    ///   - request: The request that follows it.
    ///   - completionHandler: Takes the answer.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Parameters:
    ///   - response: The redirect response.
    ///   - request: The request that follows it.
    /// - Returns: The request to load, or `nil` to take the redirect response.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// The server asks for credentials, and refuses those that are known (from the URL, earlier requests, the
    /// credential storage). The task waits until the handler is called, or one method of the challenge's sender; the
    /// first answer counts, from any thread. Called for tasks with a completion handler too.
    ///
    /// A response with several challenges asks about the safest: Digest with SHA-256, then with MD5, then Basic. A
    /// credential that has been refused twice is not tried a third time: the response that refused it is the result.
    ///
    /// - Parameter completionHandler: Takes the answer.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Returns: The answer.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// A stream is needed to read the request's body from: the first one of a task made with
    /// ``URLSession/uploadTask(withStreamedRequest:)``, or another one because the body has to be sent again, after a
    /// redirect for instance. The task waits until the handler is called; `nil` ends it with
    /// `URLError.requestBodyStreamExhausted`, unless the request has a stream that has not been read from.
    ///
    /// - Parameter completionHandler: Takes the stream.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Returns: The stream.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// A stream is needed to read the rest of an upload's body from: the upload resumes, and the server has its beginning.
    /// The task waits until the handler is called. With `nil` the delegate is asked for a stream of the whole body in
    /// `urlSession(_:task:needNewBodyStream:)`, of which the beginning is skipped.
    ///
    /// - Parameters:
    ///   - offset: How many bytes of the body the server has: the stream begins after them.
    ///   - completionHandler: Takes the stream.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Parameter offset: How many bytes of the body the server has: the stream begins after them.
    /// - Returns: The stream.
    func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
    ) async -> InputStream?

    /// An upload starts over, though the server has its beginning: the file has changed since. An addition of Purl's.
    ///
    /// - Parameter reason: What has changed, as the error's `localizedFailureReason`.
    func urlSession(_ session: URLSession, task: URLSessionTask, willRestartUploadBecause reason: any Error)

    /// Bytes of the request's body were handed to the system. Calls that would pile up behind a busy queue are merged
    /// into one.
    ///
    /// - Parameters:
    ///   - bytesSent: Bytes since the last call.
    ///   - totalBytesSent: Bytes sent so far. The count begins again at 0 when the body is sent again.
    ///   - totalBytesExpectedToSend: The body's length, or ``NSURLSessionTransferSizeUnknown`` when it is not known.
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    )

    /// The metrics of a task that is over. The last call but one, made for tasks with a completion handler as well,
    /// before that is called.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// The last call about a task, made exactly once.
    ///
    /// - Parameter error: Why the task failed; `nil` on success, whatever the status code.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

extension URLSessionTaskDelegate {
    public func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        next(session, task)?.urlSession(session, didCreateTask: task)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        AsyncDelegateMethod.delayedRequest.answer(for: self) {
            await self.urlSession(session, task: task, willBeginDelayedRequest: request)
        } to: {
            completionHandler($0.0, $0.1)
        } otherwise: {
            guard let next = self.next(session, task) else { return completionHandler(.continueLoading, nil) }
            next.urlSession(
                session, task: task, willBeginDelayedRequest: request, completionHandler: completionHandler)
        }
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willBeginDelayedRequest request: URLRequest
    ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
        AsyncDelegateMethod.delayedRequest.isMissing(in: self)
        return (.continueLoading, nil)
    }

    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        next(session, task)?.urlSession(session, taskIsWaitingForConnectivity: task)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        next(session, task)?.urlSession(session, task: task, didReceiveInformationalResponse: response)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        next(session, task)?.urlSession(session, task: task, didFinishCollecting: metrics)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        AsyncDelegateMethod.redirect.answer(for: self) {
            await self.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        } to: {
            completionHandler($0)
        } otherwise: {
            guard let next = self.next(session, task) else { return completionHandler(request) }
            next.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: completionHandler)
        }
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        AsyncDelegateMethod.redirect.isMissing(in: self)
        return request
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        AsyncDelegateMethod.taskChallenge.answer(for: self) {
            await self.urlSession(session, task: task, didReceive: challenge)
        } to: {
            completionHandler($0.0, $0.1)
        } otherwise: {
            guard let next = self.next(session, task) else { return completionHandler(.performDefaultHandling, nil) }
            next.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
        }
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        AsyncDelegateMethod.taskChallenge.isMissing(in: self)
        return (.performDefaultHandling, nil)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        AsyncDelegateMethod.bodyStream.answer(for: self) {
            await self.urlSession(session, needNewBodyStreamForTask: task)
        } to: {
            completionHandler($0)
        } otherwise: {
            guard let next = self.next(session, task) else { return completionHandler(nil) }
            next.urlSession(session, task: task, needNewBodyStream: completionHandler)
        }
    }

    public func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        AsyncDelegateMethod.bodyStream.isMissing(in: self)
        return nil
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        needNewBodyStreamFrom offset: Int64,
        completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        AsyncDelegateMethod.bodyStreamFromOffset.answer(for: self) {
            await self.urlSession(session, needNewBodyStreamForTask: task, from: offset)
        } to: {
            completionHandler($0)
        } otherwise: {
            guard let next = self.next(session, task) else { return completionHandler(nil) }
            next.urlSession(session, task: task, needNewBodyStreamFrom: offset, completionHandler: completionHandler)
        }
    }

    public func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64
    ) async -> InputStream? {
        AsyncDelegateMethod.bodyStreamFromOffset.isMissing(in: self)
        return nil
    }

    public func urlSession(_ session: URLSession, task: URLSessionTask, willRestartUploadBecause reason: any Error) {
        next(session, task)?.urlSession(session, task: task, willRestartUploadBecause: reason)
    }

    public func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        next(session, task)?
            .urlSession(
                session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
    }

    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        next(session, task)?.urlSession(session, task: task, didCompleteWithError: error)
    }

    /// The session's delegate, where this is the task's own.
    private func next(_ session: URLSession, _ task: URLSessionTask) -> (any URLSessionTaskDelegate)? {
        session.delegate(after: self, of: task)
    }
}

/// The delegate methods about data tasks.
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// The head of the response arrived. No byte of the body is read until the handler is called. Not called for an upload of a
    /// background session.
    ///
    /// - Parameter completionHandler: Takes the answer.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Returns: The answer.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition

    /// The data task became a download task: this was the last call about `dataTask`, and `downloadTask`, already
    /// running, continues with the same response.
    ///
    /// Until this call, calls to `dataTask` count for `downloadTask`. If `dataTask` is suspended by then, so is
    /// `downloadTask`, and `resume()` of either takes that back.
    ///
    /// - Parameter downloadTask: The task in its place.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    )

    /// The data task became a stream task: this was the last call about `dataTask`, and `streamTask`, already running,
    /// has the connection. It first reads what follows the head of the response.
    ///
    /// - Parameter streamTask: The task in its place.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome streamTask: URLSessionStreamTask
    )

    /// Bytes of the body arrived. While this method runs, the session reads at most
    /// ``URLSessionConfiguration/Limits/bufferedBytesPerTask`` ahead; then the server waits.
    ///
    /// - Parameter data: The bytes.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)

    /// The whole response arrived, and the session's cache would store it. Answer with it, with a changed one, or with
    /// `nil` to have nothing stored; the task's completion does not wait for the answer. Not called for responses that
    /// may not be stored or are too large, for those from the cache, and for tasks with a completion handler.
    ///
    /// - Parameters:
    ///   - proposedResponse: The response that would be stored.
    ///   - completionHandler: Takes the answer.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    )

    /// The `async` form of the method above.
    ///
    /// - Parameter proposedResponse: The response that would be stored.
    /// - Returns: The response to store, if any.
    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse?
}

extension URLSessionDataDelegate {
    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        AsyncDelegateMethod.response.answer(for: self) {
            await self.urlSession(session, dataTask: dataTask, didReceive: response)
        } to: {
            completionHandler($0)
        } otherwise: {
            guard let next = self.next(session, dataTask) else { return completionHandler(.allow) }
            next.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
        }
    }

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        AsyncDelegateMethod.response.isMissing(in: self)
        return .allow
    }

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome downloadTask: URLSessionDownloadTask
    ) {
        next(session, dataTask)?.urlSession(session, dataTask: dataTask, didBecome: downloadTask)
    }

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didBecome streamTask: URLSessionStreamTask
    ) {
        next(session, dataTask)?.urlSession(session, dataTask: dataTask, didBecome: streamTask)
    }

    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        next(session, dataTask)?.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        AsyncDelegateMethod.caching.answer(for: self) {
            await self.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse)
        } to: {
            completionHandler($0)
        } otherwise: {
            guard let next = self.next(session, dataTask) else { return completionHandler(proposedResponse) }
            next.urlSession(
                session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: completionHandler)
        }
    }

    public func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        willCacheResponse proposedResponse: CachedURLResponse
    ) async -> CachedURLResponse? {
        AsyncDelegateMethod.caching.isMissing(in: self)
        return proposedResponse
    }

    /// The session's delegate, where this is the task's own.
    private func next(_ session: URLSession, _ task: URLSessionTask) -> (any URLSessionDataDelegate)? {
        session.delegate(after: self, of: task)
    }
}

/// The delegate methods about download tasks.
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// The whole body is in the file at `location`. The file is removed when this method returns, unless it was
    /// moved or opened by then.
    ///
    /// - Parameter location: The file.
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
    ///     ``NSURLSessionTransferSizeUnknown`` when the server did not send it.
    func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64,
        totalBytesExpectedToWrite: Int64
    )

    /// A download made from resume data resumes.
    ///
    /// - Parameters:
    ///   - fileOffset: The first byte that is loaded; 0 when the download had to start over because the resource
    ///     changed or the partial file could not be trusted.
    ///   - expectedTotalBytes: The length of the whole resource, or ``NSURLSessionTransferSizeUnknown``.
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
    ) {
        next(session, downloadTask)?
            .urlSession(
                session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite)
    }

    public func urlSession(
        _ session: URLSession,
        downloadTask: URLSessionDownloadTask,
        didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        next(session, downloadTask)?
            .urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
                expectedTotalBytes: expectedTotalBytes)
    }

    /// The session's delegate, where this is the task's own.
    private func next(_ session: URLSession, _ task: URLSessionTask) -> (any URLSessionDownloadDelegate)? {
        session.delegate(after: self, of: task)
    }
}
