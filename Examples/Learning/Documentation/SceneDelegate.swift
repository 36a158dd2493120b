import Foundation
import Purl
import Synchronization

/// The delegate of the documentation's scenes: it allows what it is asked, answers challenges with the passwords that it has,
/// and keeps resume data.
final class SceneDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate {
    private let passwords: Mutex<[String]>
    private let lastResumeData = Mutex<Data?>(nil)

    /// - Parameter passwords: One for each challenge, in their order; without one a challenge is left to its default.
    init(passwords: [String] = []) {
        self.passwords = Mutex(passwords)
    }

    /// What the last failure has left.
    var resumeData: Data? { lastResumeData.withLock { $0 } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let password = passwords.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        guard let password else { return completionHandler(.performDefaultHandling, nil) }
        completionHandler(.useCredential, URLCredential(user: "reader", password: password, persistence: .forSession))
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {}

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        lastResumeData.withLock { $0 = (error as? URLError)?.downloadTaskResumeData }
    }
}
