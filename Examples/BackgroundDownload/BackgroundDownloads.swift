import Foundation
import Purl
import Synchronization

/// Downloads that outlive the process: one background session, and at most one download in it.
///
/// The session calls its delegate on a queue of its own, one call at a time. `begin` is called on any other thread and
/// waits for an answer from there; so the state lies behind a `Mutex` and nothing here needs the main thread.
final class BackgroundDownloads: NSObject, URLSessionDelegate {
    /// Posted when a download is over; the file's URL is under the key "file".
    static let didFinish = Notification.Name("BackgroundDownloadsDidFinish")

    /// What to show, and what to say. Called on the delegate queue.
    let onProgress: @Sendable (_ received: Int64, _ total: Int64?) -> Void
    let onMessage: @Sendable (String) -> Void
    /// Where finished files go.
    let documents: URL

    struct State {
        var session: URLSession?
        /// What the system wants to hear when everything is done, and for which session.
        var completion: (identifier: String, handler: @Sendable () -> Void)?
        var hasFinishedEvents = false
        /// Where the last attempt began: one that brings nothing is not repeated at once.
        var lastOffset: Int64 = -1
        var file: URL?
    }
    let state = Mutex(State())

    init(
        documents: URL, onProgress: @escaping @Sendable (_ received: Int64, _ total: Int64?) -> Void,
        onMessage: @escaping @Sendable (String) -> Void
    ) {
        self.documents = documents
        self.onProgress = onProgress
        self.onMessage = onMessage
    }

    // MARK: Register, begin, pause, continue

    /// Makes the session. After a relaunch this is what brings back the downloads of the process before, so it is the
    /// first thing to do, with the identifier of always.
    func register(_ identifier: String) {
        // Another program may have had the same idea.
        let configuration = URLSessionConfiguration.background(withIdentifier: "org.purl.example.\(identifier)")
        configuration.allowsCellularAccess = true
        configuration.backgroundSessionsDirectory = documents.appendingPathComponent(".sessions", isDirectory: true)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        state.withLock { $0.session = session }
    }

    /// The download there is, or a new one. There is never a second one.
    func begin(_ url: URL) {
        guard let session else { return }
        let asked = DispatchSemaphore(value: 0)
        session.getTasksWithCompletionHandler { _, _, downloads in
            // On the delegate queue, which is why the caller may wait, wherever it is.
            assert(downloads.count <= 1)
            if let download = downloads.first {
                self.onMessage("begin: found the download there is")
                // Resuming what runs already changes nothing.
                download.resume()
            } else {
                self.onMessage("begin: a new download")
                self.onProgress(0, nil)
                self.state.withLock { $0.lastOffset = -1 }
                session.downloadTask(with: url).resume()
            }
            asked.signal()
        }
        asked.wait()
    }

    func pause() {
        withDownload { download in
            // Suspensions are counted; one is enough.
            guard download.state == .running else { return }
            download.suspend()
            self.onMessage("paused")
        }
    }

    func `continue`() {
        withDownload { download in
            guard download.state == .suspended else { return }
            download.resume()
            self.onMessage("continued")
        }
    }

    /// The system woke the program for the session's sake and wants to be called when it has dealt with everything.
    func keep(_ handler: @escaping @Sendable () -> Void, forSession identifier: String) {
        state.withLock { $0.completion = ("org.purl.example.\(identifier)", handler) }
    }

    private var session: URLSession? { state.withLock { $0.session } }

    private func withDownload(_ body: @escaping @Sendable (URLSessionDownloadTask) -> Void) {
        session?.getTasksWithCompletionHandler { _, _, downloads in downloads.first.map(body) }
    }
}
