import Foundation
import Purl

/// Exercise 5: appends the bodies of several responses to one file, in the order in which they arrive. A body is appended
/// only if its status is 200, and what the file held before stays in it. `onEnd` is called at the end of each task, when
/// its body is in the file.
///
/// Here every body is written over the one before it, that of an error page as well, and bytes that have not been written
/// when the program ends are lost.
final class Exercise5: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var body = Data()
    private let file: URL
    private let onEnd: @Sendable () -> Void

    init(file: URL, onEnd: @escaping @Sendable () -> Void) {
        self.file = file
        self.onEnd = onEnd
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        // Look at the status here, and open the file at its end.
        body = Data()
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        // Append the piece here: however many there are, memory holds only one.
        body.append(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        // Close the file here.
        try? body.write(to: file)
        onEnd()
    }
}
