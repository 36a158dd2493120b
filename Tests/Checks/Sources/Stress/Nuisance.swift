import Foundation
import Purl
import Synchronization

/// A delegate that makes any call from within its own, and answers at any time in any way.
final class Nuisance: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate,
    Sendable
{
    let arena: Arena
    private let dice: Mutex<Dice>

    init(_ arena: Arena, _ dice: Dice) {
        self.arena = arena
        self.dice = Mutex(dice)
    }

    /// Handles a call. Now and then it makes an unrelated one.
    func inside(
        _ call: String, _ session: URLSession, _ task: URLSessionTask?,
        _ body: (NumberedSession, inout Dice) -> Void = { _, _ in }
    ) {
        guard let session = session as? NumberedSession else { return }
        arena.ledger.check(session.enter(), "\(call) while another call ran")
        if let task { arena.ledger.receive(call, of: session.key(task)) }
        var dice = dice.withLock { $0.offspring() }
        if !arena.isClosing, dice.once(in: 6), let act = dice.pick(Act.all) {
            act.perform(arena, &dice)
            arena.ledger.countInside()
        }
        body(session, &dice)
        session.leave()
    }

    /// Answers at once, or later from another thread, or twice.
    private func answer(_ dice: inout Dice, _ answer: @escaping @Sendable () -> Void) {
        switch dice.below(16) {
        case 0:
            answer()
            answer()
        case 1...4: DispatchQueue.global().async(execute: answer)
        default: answer()
        }
    }

    // MARK: The session

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        inside("didBecomeInvalid", session, nil) { session, _ in
            arena.ledger.end(session: session.number)
        }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        inside("didFinishEvents", session, nil)
    }

    // MARK: Any task

    func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) {
        // The one call that is made on the thread that creates the task, beside those on the queue.
        arena.ledger.countInside()
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        inside("willBeginDelayedRequest", session, task) { _, dice in
            let isCancelled = dice.once(in: 8)
            answer(&dice) { completionHandler(isCancelled ? .cancel : .continueLoading, nil) }
        }
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        inside("taskIsWaitingForConnectivity", session, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        inside("didReceiveInformationalResponse", session, task)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        inside("willPerformHTTPRedirection", session, task) { _, dice in
            let isFollowed = !dice.once(in: 8)
            answer(&dice) { completionHandler(isFollowed ? request : nil) }
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        inside("didReceiveChallenge", session, task) { _, dice in
            let credential = URLCredential(
                user: MisbehavingServer.user, password: dice.once(in: 4) ? "wrong" : MisbehavingServer.password,
                persistence: dice.once(in: 2) ? .none : .forSession)
            let disposition = dice.pick([
                URLSession.AuthChallengeDisposition.useCredential, .useCredential, .performDefaultHandling,
                .cancelAuthenticationChallenge, .rejectProtectionSpace,
            ])
            answer(&dice) { completionHandler(disposition ?? .useCredential, credential) }
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        inside("needNewBodyStream", session, task) { _, dice in
            let isThere = !dice.once(in: 8)
            answer(&dice) {
                completionHandler(isThere ? InputStream(data: MisbehavingServer.content.bytes(0..<50_000)) : nil)
            }
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        inside("didSendBodyData", session, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        inside("didFinishCollecting", session, task)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        inside("didComplete", session, nil) { session, _ in
            arena.ledger.check(task.state == .completed, "didComplete in the state \(task.state)")
            arena.finish(session.key(task), error)
        }
    }

    // MARK: Data tasks

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        inside("didReceiveResponse", session, dataTask) { _, dice in
            let all: [URLSession.ResponseDisposition] = [
                .allow, .allow, .allow, .allow, .allow, .becomeDownload, .becomeStream, .cancel,
            ]
            let upgrades: [URLSession.ResponseDisposition] = [
                .becomeStream, .becomeStream, .becomeStream, .allow, .cancel,
            ]
            let isUpgrade = dataTask.originalRequest?.value(forHTTPHeaderField: "Upgrade") != nil
            let disposition = dice.pick(isUpgrade ? upgrades : all) ?? .allow
            answer(&dice) { completionHandler(disposition) }
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)
    {
        inside("didBecomeDownload", session, dataTask) { session, dice in
            let ticket = arena.ledger.begin("download, once data")
            arena.ledger.end(session.key(dataTask), "became a download")
            arena.ledger.bind(ticket, to: downloadTask, session.key(downloadTask))
            arena.share(downloadTask, &dice)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        inside("didReceiveData", session, dataTask)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        // The task's completion does not wait for this call's answer.
        inside("willCacheResponse", session, dataTask) { _, dice in
            let isStored = !dice.once(in: 4)
            answer(&dice) { completionHandler(isStored ? proposedResponse : nil) }
        }
    }

    // MARK: Download tasks

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        inside("didFinishDownloading", session, downloadTask) { _, _ in
            if let body = try? Data(contentsOf: location), let response = downloadTask.response {
                arena.check(body, of: response)
            } else {
                arena.ledger.note("a finished download has no file, or no response")
            }
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        inside("didWriteData", session, downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        inside("didResumeAtOffset", session, downloadTask)
    }

    // MARK: WebSocket tasks

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        inside("didOpen", session, webSocketTask)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        inside("didClose", session, webSocketTask)
    }
}

extension Nuisance: URLSessionStreamDelegate {
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {
        inside("readClosed", session, streamTask)
    }

    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {
        inside("writeClosed", session, streamTask)
    }

    /// The task ends with this call: nothing else about it may follow.
    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {
        inside("didBecomeStreams", session, streamTask) { session, dice in
            arena.ledger.check(streamTask.state == .completed, "captured in the state \(streamTask.state)")
            arena.ledger.check(streamTask.error == nil, "captured with an error")
            arena.ledger.end(session.key(streamTask), "captured")
            arena.captures.take(inputStream, outputStream, &dice)
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask) {
        inside("didBecomeStream", session, dataTask) { session, dice in
            let ticket = arena.ledger.begin("stream, once data")
            arena.ledger.end(session.key(dataTask), "became a stream")
            arena.ledger.bind(ticket, to: streamTask, session.key(streamTask))
            arena.share(streamTask, &dice)
        }
    }
}
