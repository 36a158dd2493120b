import Foundation
import Purl
import Synchronization

/// A session's delegate: keeps the file of a download at a place, counts calls, and says when tasks are over.
final class Keeper: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, Sendable {
    /// What a task's calls have said.
    struct Seen: Sendable {
        var completions = 0
        var error: (any Error)?
        /// Where a download resumed; `nil` where it began at the beginning.
        var offset: Int64?
        /// The last count of bytes written.
        var written: Int64 = 0
        var bytes = Data()
        var file: URL?
        var problem: String?
    }

    private struct State {
        var seen: [Int: Seen] = [:]
        var isInvalid = false
        var waiting: [(isDone: @Sendable ([Int: Seen], Bool) -> Bool, resume: CheckedContinuation<Void, Never>)] = []
    }

    private let place: (@Sendable (URLSessionTask) -> URL)?
    private let credential: URLCredential?
    private let onCall: (@Sendable (URLSession, URLSessionTask) -> Void)?
    private let onProgress: (@Sendable (Int64) -> Void)?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - place: Where a finished file is moved to.
    ///   - credential: The answer to challenges.
    ///   - onCall: Called within each call that is about a task.
    ///   - onProgress: Called with each count of bytes written.
    init(
        place: (@Sendable (URLSessionTask) -> URL)? = nil, credential: URLCredential? = nil,
        onCall: (@Sendable (URLSession, URLSessionTask) -> Void)? = nil,
        onProgress: (@Sendable (Int64) -> Void)? = nil
    ) {
        (self.place, self.credential, self.onCall, self.onProgress) = (place, credential, onCall, onProgress)
        super.init()
    }

    func seen(_ task: URLSessionTask) -> Seen { state.withLock { $0.seen[task.taskIdentifier] ?? Seen() } }
    var isInvalid: Bool { state.withLock { $0.isInvalid } }

    /// Returns when a task has completed.
    func completion(of task: URLSessionTask) async -> Seen {
        let number = task.taskIdentifier
        await wait { seen, _ in (seen[number]?.completions ?? 0) > 0 }
        return seen(task)
    }

    /// Returns when the session is invalid.
    func invalidation() async { await wait { _, isInvalid in isInvalid } }

    private func wait(until isDone: @escaping @Sendable ([Int: Seen], Bool) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if isDone(state.seen, state.isInvalid) { return true }
                state.waiting.append((isDone, continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let over = state.withLock { state in
            body(&state)
            let (seen, isInvalid) = (state.seen, state.isInvalid)
            let over = state.waiting.filter { $0.isDone(seen, isInvalid) }
            state.waiting.removeAll { $0.isDone(seen, isInvalid) }
            return over.map(\.resume)
        }
        for continuation in over { continuation.resume() }
    }

    private func change(_ session: URLSession, _ task: URLSessionTask, _ call: String, _ body: (inout Seen) -> Void) {
        onCall?(session, task)
        change { state in
            var seen = state.seen[task.taskIdentifier] ?? Seen()
            if seen.completions > 0 { seen.problem = "\(call) after the completion" }
            if state.isInvalid { seen.problem = "\(call) after the session became invalid" }
            body(&seen)
            state.seen[task.taskIdentifier] = seen
        }
    }

    // MARK: Delegate

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        change(session, downloadTask, "didResumeAtOffset") { $0.offset = fileOffset }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        change(session, downloadTask, "didWriteData") { $0.written = totalBytesWritten }
        onProgress?(totalBytesWritten)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode
        // Any other response is not the file.
        let place = status == 200 || status == 206 ? place?(downloadTask) : nil
        if let place {
            try? FileManager.default.removeItem(at: place)
            try? FileManager.default.moveItem(at: location, to: place)
        }
        change(session, downloadTask, "didFinishDownloadingTo") { seen in
            if seen.file != nil { seen.problem = "two files" }
            seen.file = place ?? location
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        change(session, dataTask, "didReceive data") { $0.bytes.append(data) }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        change(session, task, "willPerformHTTPRedirection") { $0.bytes = Data() }
        completionHandler(request)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        change(session, task, "didReceive challenge") { _ in }
        if let credential, challenge.previousFailureCount == 0 {
            completionHandler(.useCredential, credential)
        } else {
            completionHandler(.performDefaultHandling, nil)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        change(session, task, "didComplete") { seen in
            seen.completions += 1
            seen.error = error
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        change { state in
            for number in state.seen.keys where state.isInvalid { state.seen[number]?.problem = "invalid twice" }
            state.isInvalid = true
        }
    }
}
