import Foundation
internal import PurlHTTP
internal import PurlIO

/// What a transfer tells its user, and how it ends. Every call goes through the session's delegate queue, so they
/// come in the order in which they are made here.
extension Transfer {
    // MARK: Who hears

    /// Somebody is to be asked about redirects.
    var hearsOfTask: Bool { task.taskDelegate != nil }

    /// Somebody is to be asked about the response of a data task.
    var hearsOfData: Bool {
        if case .delegate = task.audience { return task.dataDelegate != nil }
        return false
    }

    // MARK: Questions

    typealias ChallengeAnswer =
        @Sendable @NetworkActor (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    func askRedirect(
        _ response: HTTPURLResponse, _ next: URLRequest,
        answer: @escaping @Sendable @NetworkActor (URLRequest?) -> Void
    ) {
        let once = Once(answer)
        session.queue.enqueue { [task, session] in
            guard let delegate = task.taskDelegate else { return once.answer(next) }
            delegate.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: next,
                completionHandler: { once.answer($0) })
        }
    }

    func askDelegate(
        _ response: URLResponse,
        answer: @escaping @Sendable @NetworkActor (URLSession.ResponseDisposition) -> Void
    ) {
        let once = Once(answer)
        session.queue.enqueue { [task, session] in
            guard let delegate = task.dataDelegate, let dataTask = task as? URLSessionDataTask else {
                return once.answer(.allow)
            }
            delegate.urlSession(
                session, dataTask: dataTask, didReceive: response, completionHandler: { once.answer($0) })
        }
    }

    func askCredential(
        _ space: URLProtectionSpace, proposed: URLCredential?, failures: Int, _ response: URLResponse,
        answer: @escaping ChallengeAnswer
    ) {
        let once = Once<ChallengeSender.Answer> { answer($0.disposition, $0.credential) }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: proposed, previousFailureCount: failures,
            failureResponse: response, error: nil, sender: ChallengeSender(once))
        ask(challenge, once)
    }

    /// Asks about a challenge whose sender is somebody else.
    func askDelegate(_ challenge: URLAuthenticationChallenge, answer: @escaping ChallengeAnswer) {
        ask(challenge, Once<ChallengeSender.Answer> { answer($0.disposition, $0.credential) })
    }

    private func ask(_ challenge: URLAuthenticationChallenge, _ once: Once<ChallengeSender.Answer>) {
        session.queue.enqueue { [task, session] in
            guard let delegate = task.taskDelegate else { return once.answer((.performDefaultHandling, nil)) }
            delegate.urlSession(
                session, task: task, didReceive: challenge, completionHandler: { once.answer(($0, $1)) })
        }
    }

    func askStream(answer: @escaping @Sendable @NetworkActor (BodyStream?) -> Void) {
        let once = Once(answer)
        session.queue.enqueue { [task, session] in
            guard let delegate = task.taskDelegate else { return once.answer(nil) }
            delegate.urlSession(
                session, task: task, needNewBodyStream: { stream in once.answer(stream.map { BodyStream($0) }) })
        }
    }

    func askBeginning(
        _ request: URLRequest,
        answer: @escaping @Sendable @NetworkActor (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        let once = Once<(URLSession.DelayedRequestDisposition, URLRequest?)> { answer($0.0, $0.1) }
        session.queue.enqueue { [task, session] in
            guard let delegate = task.taskDelegate else { return once.answer((.continueLoading, nil)) }
            delegate.urlSession(
                session, task: task, willBeginDelayedRequest: request, completionHandler: { once.answer(($0, $1)) })
        }
    }

    // MARK: Reports

    /// Once a task: it goes on waiting after that.
    func announceWaiting() {
        guard hearsOfTask else { return }
        session.queue.enqueue { [task, session] in
            task.taskDelegate?.urlSession(session, taskIsWaitingForConnectivity: task)
        }
    }

    func reportInterim(_ response: HTTPURLResponse) {
        session.queue.enqueue { [task, session] in
            task.taskDelegate?.urlSession(session, task: task, didReceiveInformationalResponse: response)
        }
    }

    /// Empties the mailbox into the delegate, however many reads filled it.
    func deliverData(from mailbox: ByteMailbox) {
        session.queue.enqueue { [task, session, weak self] in
            while let data = mailbox.take() {
                if let dataTask = task as? URLSessionDataTask {
                    task.dataDelegate?.urlSession(session, dataTask: dataTask, didReceive: data)
                }
                guard mailbox.done(data.count) else { continue }
                NetworkActor.post {
                    self?.holds.remove(.full)
                    self?.updateFlow()
                }
            }
        }
    }

    func reportSent(_ count: Int64) {
        task.updateCounts { $0.sent += count }
        guard case .delegate = task.audience, sendReport.add(count) else { return }
        let expected = task.countOfBytesExpectedToSend
        session.queue.enqueue { [task, session, sendReport] in
            let (bytes, total) = sendReport.take()
            task.taskDelegate?.urlSession(
                session, task: task, didSendBodyData: bytes, totalBytesSent: total, totalBytesExpectedToSend: expected)
        }
    }

    func reportWritten(_ count: Int64) {
        guard case .delegate = task.audience, let download = downloadTask, writeReport.add(count) else { return }
        session.queue.enqueue { [session, writeReport] in
            let (bytes, total) = writeReport.take()
            download.downloadDelegate?.urlSession(
                session, downloadTask: download, didWriteData: bytes, totalBytesWritten: total,
                totalBytesExpectedToWrite: download.countOfBytesExpectedToReceive)
        }
    }

    func reportResumed(at offset: Int64) {
        writeReport.start(at: offset)
        guard case .delegate = task.audience, let download = downloadTask else { return }
        let expected = total ?? NSURLSessionTransferSizeUnknown
        session.queue.enqueue { [session] in
            download.downloadDelegate?.urlSession(
                session, downloadTask: download, didResumeAtOffset: offset, expectedTotalBytes: expected)
        }
    }

    /// Another task goes on in a data task's place: `tell` says so to the delegate.
    func announce(
        inPlaceOf old: URLSessionTask,
        _ tell: @escaping @Sendable (any URLSessionDataDelegate, URLSession, URLSessionDataTask) -> Void
    ) {
        session.queue.enqueue { [session] in
            old.shared.withLock { $0.successor = nil }
            if let dataTask = old as? URLSessionDataTask, let delegate = old.dataDelegate {
                tell(delegate, session, dataTask)
            }
            old.release()
            session.forget(old)
        }
    }

    // MARK: Ends

    /// Ends the transfer with a failure: gives up the connection, brings the sink to an end, makes resume data where
    /// the rules allow, and concludes.
    ///
    /// - Parameter resumeHandler: Who asked for the resume data of a download that is being stopped.
    func fail(_ failure: TransferFailure, resumeHandler: (@Sendable (Data?) -> Void)? = nil) {
        if replace(failure) { return }
        let old = phase
        switch old {
        case .ending, .concluded: return
        case .parked, .preparing, .leasing, .decoding: break
        case .waiting(let ticket): ticket.cancel()
        case .exchanging(let source): source.abandon()
        }
        phase = .ending
        if case .delegate(let mailbox) = destination, case .cancelled = failure { mailbox.close() }
        metrics?.current.noteEnd()
        let keepsPartial = resumeHandler != nil || !failure.isCancellation
        let untouched = keepsPartial ? untouched : nil
        guard let writer else { return finishFailing(failure, untouched, resumeHandler) }
        writer.stop { [weak self] resume in
            self?.finishFailing(failure, keepsPartial ? resume ?? untouched : nil, resumeHandler)
        }
    }

    private func finishFailing(
        _ failure: TransferFailure, _ resume: ResumeData?, _ resumeHandler: (@Sendable (Data?) -> Void)?
    ) {
        // A sink's bytes stay where they are; resume data is for downloads, whose file nobody else can name.
        let blob = downloadTask == nil || !failure.canCarryResumeData ? nil : try? resume?.encoded()
        let error = failure.error(for: request.url, resumeData: blob)
        afterRemoving(blob == nil ? unwantedPartial : nil) { [self] in
            if let resumeHandler { session.queue.enqueue { resumeHandler(blob) } }
            conclude(.failure(error))
        }
    }

    /// The partial file with which nobody will go on. What a task was made from that never began is still its maker's,
    /// unless that was the journal.
    private var unwantedPartial: PartialFile? {
        if let partial { return partial }
        guard case .restored(let resume) = origin else { return nil }
        return try? PartialFile(named: resume.partialName, in: session.partials)
    }

    /// Goes on when the file is gone. The disk may take a while for that, and others' bytes must not wait for it.
    private func afterRemoving(_ file: PartialFile?, _ goOn: @escaping @Sendable @NetworkActor () -> Void) {
        guard let file else { return goOn() }
        DispatchQueue.global().async {
            file.remove()
            NetworkActor.post { goOn() }
        }
    }

    /// The sink has taken the whole body, or could not.
    func stored(_ result: Result<Int64, any Error>) {
        switch result {
        case .success(let length):
            if let total, total != length {
                phase = .parked
                return fail(.incomplete(received: length, total: total))
            }
            conclude(.success(()))
        case .failure(let error):
            phase = .parked
            fail(.file(FileFailure(.write, nil, error)))
        }
    }

    /// Nothing happens any more, and the task does not know the transfer.
    func leave() {
        phase = .concluded
        stopTimers()
        task.transfer = nil
        task.isConcluded = true
    }

    /// The one end of every transfer, but that of a stream whose connection goes to the delegate.
    func conclude(_ result: Result<Void, any Error>) {
        if case .delegate(let mailbox) = destination, mailbox.release() { deliverData(from: mailbox) }
        leave()
        let (task, partial, body) = (task, partial, collected)
        let outcome: (any Error)? =
            switch result {
            case .success: nil
            case .failure(let error): error
            }
        conversation?.conclude(outcome)
        let tellMetrics = metricsCall()
        switch task.audience {
        case .delegate:
            session.queue.enqueue { task.tellDelegate(outcome, file: partial, metrics: tellMetrics) }
        case .stream(let stream):
            run(.inline, after: tellMetrics) {
                stream.close(task.conclude(outcome))
                task.finish()
            }
        case .data(let handler, let delivery):
            run(delivery, after: tellMetrics) {
                let final = task.conclude(outcome)
                handler(final == nil ? body : nil, task.response, final)
                task.finish()
            }
        case .file(let handler, let delivery):
            run(delivery, after: tellMetrics) {
                let final = task.conclude(outcome)
                handler(final == nil ? partial?.location : nil, task.response, final)
                // A failed transfer has decided about its file; a finished one is the caller's only after `await`.
                if outcome == nil, final != nil || delivery == .queue { partial?.remove() }
                task.finish()
            }
        }
    }

    /// Whoever waits for the result of a task whose own delegate hears of its metrics hears of it after that. Other
    /// waiting is not for the delegate queue, which may be busy or suspended.
    private func run(
        _ delivery: Audience.Delivery, after first: DelegateQueue.Call?, _ call: @escaping @Sendable () -> Void
    ) {
        if let first { session.queue.enqueue(first) }
        switch delivery {
        case .inline where first == nil || task.delegate == nil: call()
        case .queue, .inline: session.queue.enqueue(call)
        }
    }
}

extension TransferFailure {
    /// Somebody wanted the end.
    var isCancellation: Bool {
        if case .cancelled = self { return true }
        return false
    }

    /// The server could not be reached, or did not answer.
    var isUnreachability: Bool {
        switch self {
        case .dial, .proxyDial, .stalled, .exchange(.closedBeforeResponse), .exchange(.closedDuringResponse): true
        default: false
        }
    }
}
