import Foundation
import Purl

/// The solution of exercise 2.
final class Solution2: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var state: LinkState?
    private let onEnd: @Sendable (LinkState) -> Void

    init(_ onEnd: @escaping @Sendable (LinkState) -> Void) {
        self.onEnd = onEnd
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        state = request.url.map { .moved(to: $0) }
        completionHandler(nil)
    }

    /// Also called with the redirect that was not followed: by then the state is known.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if state == nil {
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            state = (200...299).contains(status) ? .fine(type: response.mimeType) : .broken(status: status)
        }
        completionHandler(.cancel)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onEnd(state ?? .unreachable((error as? URLError)?.code ?? .unknown))
    }
}
