import Foundation

/// A task whose body goes to its delegate, to a completion handler or to a ``BodySink``.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A data task that was made to send a body: data, a file or a stream.
///
/// The delegate receives the counts of bytes sent in
/// `urlSession(_:task:didSendBodyData:totalBytesSent:totalBytesExpectedToSend:)`, and the response as any data task's does. A response with a status of 300 or above that comes before the
/// body has gone out is delivered, and the rest is not sent. If the request has `Expect: 100-continue` the body waits
/// for the server to ask for it, for a second at most.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
