import Foundation
import Purl

/// The same download with what Purl has for it: a sink keeps the file and a record of its version.
final class CarefulResume: NSObject, URLSessionDataDelegate {
    private let url: URL
    private let file: URL
    private let configuration: URLSessionConfiguration

    init(_ url: URL, to file: URL, configuration: URLSessionConfiguration) {
        self.url = url
        self.file = file
        self.configuration = configuration
    }

    func start() {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        session.dataTask(with: url, writingTo: FileHandleSink(fileAt: file)).resume()
        session.finishTasksAndInvalidate()
    }

    /// An error means that the file is not complete; the next launch resumes it.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}
}
