import Foundation

/// A task whose body goes to a file, and which can be stopped and resumed later.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    /// Cancels the download and delivers the data with which it can be resumed later.
    ///
    /// The handler runs once, on the session's delegate queue, before the completion with `URLError.cancelled`.
    /// It gets `nil` when the download is over, was cancelled before, or cannot be resumed: that takes a GET with a response
    /// of 200 or 206, a strong entity tag or a `Last-Modified` that counts as one (RFC 9110 §8.8.2.2), a server
    /// that accepts byte ranges, no content coding, and one byte on disk.
    open func cancel(byProducingResumeData completionHandler: @escaping (Data?) -> Void) {
        // FoundationNetworking's signature is not @Sendable; the handler is called once, on the delegate queue only.
        nonisolated(unsafe) let handler = completionHandler
        cancelProducingResumeData { handler($0) }
    }

    /// Cancels the download and returns the data with which it can be resumed later; see
    /// ``cancel(byProducingResumeData:)`` for when that is `nil`.
    open func cancelByProducingResumeData() async -> Data? {
        await handlerResult { cancel(byProducingResumeData: $0) }
    }
}
