import Foundation
import Purl

/// What is known of a link after a request to it.
enum LinkState: Sendable, Equatable {
    /// The server has the resource.
    case fine(type: String?)
    /// The resource has another address: this one, where the first redirect leads.
    case moved(to: URL)
    /// The server has answered with a status that is not a success.
    case broken(status: Int)
    /// No response has arrived.
    case unreachable(URLError.Code)
}

/// Exercise 2: checks a link, and calls `onEnd` with its state, once.
///
/// It is to decide as soon as the head of the first response is there: it follows no redirect, and reads no body, which may be
/// large and may break off. Remember the state when you decide, since the last call cannot tell why a task was cancelled.
///
/// Here every redirect is followed, every body is read, and every link is broken.
final class Exercise2: NSObject, URLSessionDataDelegate {
    private let onEnd: @Sendable (LinkState) -> Void

    init(_ onEnd: @escaping @Sendable (LinkState) -> Void) {
        self.onEnd = onEnd
    }

    // Implement `willPerformHTTPRedirection` here.

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onEnd(.broken(status: 0))
    }
}
