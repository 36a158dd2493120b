import Foundation

/// A task whose body goes to its delegate, to a completion handler or to a ``BodySink``.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A data task that was made to send a body: data, a file or a stream.
///
/// The delegate receives the counts of bytes sent in
/// `urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)`, and the response as any data task's does.
/// A response with a status of 300 or above that comes before the body has gone out is delivered, and the rest is not sent;
/// after any other the body is sent to its end. If the request has `Expect: 100-continue` the body waits for the server to
/// ask for it, for a second at most.
///
/// `cancel()` lets the server forget an upload that it has offered to resume; ``cancel(byProducingResumeData:)`` keeps it.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
    /// Cancels the upload and delivers the data with which it can be resumed later; see
    /// ``URLSession/uploadTask(withResumeData:)``.
    ///
    /// The handler runs once, on the session's delegate queue, before the completion with `URLError.cancelled`. It gets `nil`
    /// when the upload is over, was cancelled before, or cannot be resumed: that takes a server that has offered it; see
    /// ``URLSessionConfiguration/resumableUploads``.
    open func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        cancelProducingResumeData(completionHandler)
    }

    /// Cancels the upload and returns the data with which it can be resumed later; see
    /// ``cancel(byProducingResumeData:)`` for when that is `nil`.
    open func cancelByProducingResumeData() async -> Data? {
        await handlerResult { cancel(byProducingResumeData: $0) }
    }

    /// Delivers the data with which the upload can be resumed while it is under way: when the server has offered to resume
    /// it, and whenever it continues with another request. The upload is not disturbed.
    ///
    /// The observer is called on the session's delegate queue, before the task's completion and never after it; it receives
    /// `nil` when the upload cannot be resumed any more. How it ends is not among the calls: the error of a failure carries
    /// resume data of its own. Set it before the task is resumed.
    ///
    /// - Parameter observer: Receives the resume data.
    package func observeResumeData(_ observer: @escaping @Sendable (Data?) -> Void) {
        setResumeDataObserver(observer)
    }

    /// Delivers each failure after which the upload resumes by itself, such as a lost connection, when it happens.
    ///
    /// The observer is called on the session's delegate queue, before the task's completion. Set it before the task is resumed.
    package func observeInterruptions(_ observer: @escaping @Sendable (any Error) -> Void) {
        setInterruptionObserver(observer)
    }
}
