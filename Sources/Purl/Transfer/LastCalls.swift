import Foundation
internal import PurlIO

/// The last calls about one task: how it ends for its users.
///
/// # Theory of operation
///
/// A transfer ends once: the table of ``TransferPhase`` lets it conclude from `finishing` or `stopping`, and from nowhere else.
/// What follows has one order, whatever the outcome.
///
/// On the network thread, in `Transfer.conclude`:
/// 1. What the body's mailbox has gathered is put into the delegate queue (`didReceive`), the deadlines stop, later
///    messages of the task find no transfer, and the reads and writes that wait in a conversation fail.
/// 2. A handler that waits for resume data has been put into the queue before. The metrics are complete.
/// 3. The last calls are put into the delegate queue, as one call that nothing of the session's comes between.
///
/// On the delegate queue, for a task that reports to its delegate:
/// 1. `didFinishDownloadingTo`, if there is a file and the task was not cancelled. The file is then removed.
/// 2. ``URLSessionTask/conclude(_:)``: the task is `completed`. A `cancel()` that came before this moment turns a success
///    into `URLError.cancelled`; one that comes later has no effect.
/// 3. `didFinishCollecting`, with the metrics.
/// 4. `didCompleteWithError`.
/// 5. The task releases its delegate, and the session the task. That may be the session's own last moment:
///    `urlSessionDidFinishEvents` after the last task that an earlier process left, `didBecomeInvalidWithError` after the
///    last one of a session that was invalidated.
///
/// For a task with a handler, steps 2 and 4 follow the metrics, and the handler takes the place of `didCompleteWithError`. A
/// continuation, which only resumes the program, does not wait for a delegate queue that may be busy or suspended: its
/// steps 2, 4 and 5 are made on the network thread after the turn, together with all others of the turn, so that the
/// threads that they resume on wake once. If the task has, or has had, a delegate of its own, it resumes after that has
/// received all its calls, the metrics too, on the delegate queue.
///
/// A stream whose connection was captured ends with `didBecome`: no metrics and no completion follow, unless the delegate
/// cannot take the streams. A task that another has replaced has no last calls; the other has them. A task that an earlier
/// process left, and whose transfer is over, has those of a task that reports to its delegate, without metrics.
struct LastCalls: Sendable {
    private let task: URLSessionTask
    private let session: URLSession
    private let trace: TaskTrace?
    /// Delivers the metrics; `nil` when there is no delegate for them.
    private let deliverMetrics: DelegateQueue.Call?

    /// The last calls of a task whose transfer has ended.
    ///
    /// - Parameters:
    ///   - metrics: The requests from the first one after there was a delegate; `nil` while there is none.
    ///   - redirects: How many redirects were followed.
    @NetworkActor
    init(
        of task: URLSessionTask, in session: URLSession, _ trace: TaskTrace?, _ metrics: TaskMetricsCollector?,
        redirects: Int
    ) {
        self.task = task
        self.session = session
        self.trace = trace
        guard metrics != nil || task.taskDelegate != nil else {
            deliverMetrics = nil
            return
        }
        let created = task.created
        let ended = EventLoop.shared.now
        let records = metrics?.finish() ?? []
        let call: DelegateQueue.Call = {
            guard let delegate = task.taskDelegate else { return }
            let metrics = URLSessionTaskMetrics(records, created: created, ended: ended, redirects: redirects)
            delegate.urlSession(session, task: task, didFinishCollecting: metrics)
        }
        if let trace {
            deliverMetrics = trace.tracing(.didFinishCollecting, .metrics(requests: records.count), call)
        } else {
            deliverMetrics = call
        }
    }

    /// The last calls of a task that an earlier process has left to its delegate.
    init(ofRestored task: URLSessionTask, in session: URLSession) {
        self.task = task
        self.session = session
        trace = task.taskTrace
        deliverMetrics = nil
    }

    // MARK: To the delegate queue

    /// Delivers the result of the task, or its failure.
    ///
    /// - Parameters:
    ///   - failure: Why the task failed; `nil` if it has not.
    ///   - content: What a data handler receives.
    ///   - file: What a download leaves.
    func deliver(_ failure: (any Error)?, content: Data, file: PartialFile?) {
        switch task.consumer {
        case .delegate:
            let traced = traceDelegateCalls(hasFile: failure == nil && file != nil)
            session.queue.enqueue { callDelegate(failure, file, traced) }
        case .bytes: deliver(failure, content, file, by: .inline)
        case .data(_, let delivery), .file(_, let delivery): deliver(failure, content, file, by: delivery)
        }
    }

    private func deliver(
        _ failure: (any Error)?, _ content: Data, _ file: PartialFile?, by delivery: BodyConsumer.Delivery
    ) {
        let traced = traceResult(delivery)
        let call: DelegateQueue.Call = { passOn(failure, content, file, traced) }
        if resumesAfterTurn(delivery) {
            if let deliverMetrics { session.queue.enqueue(deliverMetrics) }
            return NetworkActor.afterTurn(call)
        }
        guard let deliverMetrics else { return session.queue.enqueue(call) }
        session.queue.enqueue {
            deliverMetrics()
            call()
        }
    }

    /// Delivers a connection, which belongs to the stream task's delegate from now on.
    ///
    /// - Parameter bytes: What has arrived and was not read.
    func deliver(_ connection: BlockingSocket, after bytes: [UInt8], isReadClosed: Bool) {
        session.queue.enqueue {
            guard let streamTask = task as? URLSessionStreamTask else { return }
            // Where no delegate can take the streams, or the task was cancelled, it ends as any other task does.
            guard let delegate = streamTask.streamDelegate, task.conclude(nil) == nil else {
                return callDelegate(nil, nil, nil)
            }
            delegate.urlSession(
                session, streamTask: streamTask,
                didBecome: CapturedInputStream(connection, after: bytes, hasEnded: isReadClosed),
                outputStream: CapturedOutputStream(connection))
            Self.finish(task, in: session)
        }
    }

    /// Whether the call is a continuation that does not wait for the delegate queue.
    private func resumesAfterTurn(_ delivery: BodyConsumer.Delivery) -> Bool {
        switch delivery {
        case .inline: !task.hasHadDelegate
        case .queue: false
        }
    }

    // MARK: On the delegate queue

    /// Calls the delegate of a restored task, whose transfer ended in an earlier process.
    func callDelegate(_ failure: URLError?, file: PartialFile?) {
        trace?.completed(failure)
        callDelegate(failure, file, traceDelegateCalls(hasFile: failure == nil && file != nil))
    }

    private func callDelegate(_ failure: (any Error)?, _ file: PartialFile?, _ traced: TracedDelegateCalls?) {
        if failure == nil, let file, let download = task as? URLSessionDownloadTask {
            if !task.isCancelled {
                try? session.background?.update(task.taskIdentifier) { $0.finished?.isHandedOver = true }
                traced?.file?.begin(nil)
                download.downloadDelegate?
                    .urlSession(session, downloadTask: download, didFinishDownloadingTo: file.handOver())
                traced?.file?.end()
            }
            // A delegate that wants the file has moved or opened it.
            file.remove()
        }
        if failure != nil {
            try? session.background?.update(task.taskIdentifier) { $0.ending = $0.ending ?? .failed }
        }
        let final = task.conclude(failure)
        deliverMetrics?()
        traced?.completion.begin(.result(final, bytes: nil))
        task.taskDelegate?.urlSession(session, task: task, didCompleteWithError: final)
        traced?.completion.end()
        Self.finish(task, in: session)
    }

    /// Gives the result to the handler or the continuation that waits for it.
    private func passOn(_ failure: (any Error)?, _ content: Data, _ file: PartialFile?, _ traced: TracedCall?) {
        let final = task.conclude(failure)
        switch task.consumer {
        case .delegate: break
        case .bytes(let stream):
            traced?.begin(.result(final, bytes: nil))
            stream.close(final)
        case .data(let handler, _):
            traced?.begin(.result(final, bytes: final == nil ? content.count : nil))
            if final == nil { trace?.delivers(content) }
            handler(final == nil ? content : nil, task.response, final)
        case .file(let handler, let delivery):
            traced?.begin(.result(final, bytes: nil))
            handler(final == nil ? file?.handOver() : nil, task.response, final)
            // A failed transfer has decided about its file; a finished one is the caller's only after `await`.
            if failure == nil, final != nil || delivery == .queue { file?.remove() }
        }
        Self.finish(task, in: session)
        traced?.end()
    }

    /// After the last call about a task: it releases its delegate, and the session the task.
    static func finish(_ task: URLSessionTask, in session: URLSession) {
        task.release()
        session.forget(task)
    }

    // MARK: Trace

    /// The records of the calls of a delegate.
    private struct TracedDelegateCalls: Sendable {
        let file: TracedCall?
        let completion: TracedCall
    }

    private func traceDelegateCalls(hasFile: Bool) -> TracedDelegateCalls? {
        guard let trace else { return nil }
        let file = hasFile ? trace.queue(.didFinishDownloading) : nil
        return TracedDelegateCalls(file: file, completion: trace.queue(.didComplete))
    }

    /// The record of a handler's or a continuation's call.
    private func traceResult(_ delivery: BodyConsumer.Delivery) -> TracedCall? {
        guard let trace else { return nil }
        let lane: TransferTrace.Lane = resumesAfterTurn(delivery) ? .caller : .delegateQueue
        switch delivery {
        case .inline: return trace.queue(.continuation, on: lane)
        case .queue: return trace.queue(.completionHandler, on: lane)
        }
    }
}
