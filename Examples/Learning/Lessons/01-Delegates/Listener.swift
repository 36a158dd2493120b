import Foundation
import Purl

/// A delegate that keeps a response and its body.
final class Listener: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // The session calls its delegate on one queue, one call at a time: that guards these.
    private(set) var status = 0
    private(set) var body = Data()
    private let onEnd: @Sendable (String) -> Void

    init(onEnd: @escaping @Sendable (String) -> Void) {
        self.onEnd = onEnd
    }

    /// The head has arrived. Nothing more is delivered until the handler is called.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        status = (response as? HTTPURLResponse)?.statusCode ?? 0
        completionHandler(.allow)
    }

    /// A piece of the body has arrived.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        body.append(data)
    }

    /// The last call, exactly once.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let error {
            onEnd("failed: \(error.localizedDescription)")
        } else {
            onEnd("\(status), \(body.count) bytes: \(String(decoding: body, as: UTF8.self))")
        }
    }
}
