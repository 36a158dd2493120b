import Foundation

/// A task whose body goes to its delegate, to a completion handler or to a ``BodySink``.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A data task that was made to send a body.
///
/// `@unchecked Sendable` as its superclass is; it adds no state.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
