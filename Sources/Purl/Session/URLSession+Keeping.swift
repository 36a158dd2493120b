import Foundation
internal import PurlIO

/// What a session does for its tasks: making, keeping, forgetting them, and becoming invalid after the last.
extension URLSession {
    /// The request the session makes from a URL alone.
    func makeRequest(_ url: URL) -> URLRequest {
        var request = URLRequest(url: url, cachePolicy: settings.requestCachePolicy)
        // Setting what is so already would cost the request a copy of its values.
        if settings.networkServiceType != .default { request.networkServiceType = settings.networkServiceType }
        if !settings.allowsCellularAccess { request.allowsCellularAccess = false }
        return request
    }

    func makeDataTask(
        _ request: URLRequest, _ source: TransferSource, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDataTask {
        keep(delegate) { identifier in
            URLSessionDataTask(
                session: self, identifier: identifier, request: request, source: source, consumer: consumer)
        }
    }

    func makeUploadTask(
        _ request: URLRequest, _ body: RequestBody, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionUploadTask {
        let task = keep(delegate) { identifier in
            URLSessionUploadTask(
                session: self, identifier: identifier, request: request, source: .upload(body), consumer: consumer)
        }
        if case .file(let url) = body, url.isFileURL { enterIntoJournal(task, nil, uploading: url) }
        return task
    }

    func makeWebSocketTask(_ request: URLRequest) -> URLSessionWebSocketTask {
        keep(nil) { URLSessionWebSocketTask(session: self, identifier: $0, request: request) }
    }

    func makeStreamTask(_ host: String, _ port: Int) -> URLSessionStreamTask {
        let request = StreamAddress.url(host: host, port: port).map { makeRequest($0) }
        let conversation = StreamConversation(request, settings)
        let task = keep(nil) { identifier in
            URLSessionStreamTask(session: self, identifier: identifier, request: nil, conversation)
        }
        if request == nil {
            task.refuse(.stream(.badAddress(host: host, port: port)))
        }
        return task
    }

    func makeDownloadTask(
        _ request: URLRequest?, _ source: TransferSource, _ consumer: BodyConsumer,
        _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDownloadTask {
        let task = keep(delegate) { identifier in
            URLSessionDownloadTask(
                session: self, identifier: identifier, request: request, source: source, consumer: consumer)
        }
        enterIntoJournal(task, source.resumeData)
        return task
    }

    /// The download that goes on in place of `task`. It is no new task to a session that is being invalidated, which
    /// waits for it or cancels it as it would have done with the old one.
    func makeDownloadTask(inPlaceOf task: URLSessionTask) -> URLSessionDownloadTask {
        keep(inPlaceOf: task) { identifier in
            URLSessionDownloadTask(
                session: self, identifier: identifier, request: task.originalRequest, source: .request,
                consumer: task.consumer)
        }
    }

    /// The stream that goes on in place of `task`, in the same way.
    func makeStreamTask(
        inPlaceOf task: URLSessionTask, _ conversation: StreamConversation
    ) -> URLSessionStreamTask {
        keep(inPlaceOf: task) { identifier in
            URLSessionStreamTask(
                session: self, identifier: identifier, request: task.originalRequest, conversation)
        }
    }

    private func keep<Kind: URLSessionTask>(inPlaceOf task: URLSessionTask, _ make: (_ identifier: Int) -> Kind) -> Kind
    {
        let (new, life) = shared.withLock { shared in
            shared.lastIdentifier += 1
            let new = make(shared.lastIdentifier)
            shared.tasks[new.taskIdentifier] = new
            return (new, shared.life)
        }
        if life == .cancelling { new.cancel() }
        return new
    }

    /// The resume data is read here, so that the task shows its request at once, as any other task does; what is
    /// wrong with it is told when the task is resumed.
    func makeDownloadTask(
        resuming blob: Data, _ consumer: BodyConsumer, _ delegate: (any URLSessionTaskDelegate)? = nil
    ) -> URLSessionDownloadTask {
        do {
            let resume = try ResumeData(decoding: blob)
            guard PartialFile.isName(resume.partialName) else { throw ResumeData.Refusal.strangeName }
            return makeDownloadTask(resume.originalRequest.request, .resume(resume), consumer, delegate)
        } catch {
            return makeDownloadTask(nil, .unreadable(error), consumer, delegate)
        }
    }

    /// Makes a task with the next identifier and keeps it until it is over. A task made by a session that is being
    /// invalidated is not kept, and fails as soon as it is resumed.
    private func keep<Kind: URLSessionTask>(
        _ delegate: (any URLSessionTaskDelegate)?, _ make: (_ identifier: Int) -> Kind
    ) -> Kind {
        let (task, refusal) = shared.withLock { shared in
            shared.lastIdentifier += 1
            let task = make(shared.lastIdentifier)
            if shared.life == .valid {
                shared.tasks[task.taskIdentifier] = task
                return (task, nil as TransferFailure?)
            }
            return (task, shared.refusal ?? .sessionInvalidated)
        }
        if let refusal { task.refuse(refusal) }
        if let delegate { task.delegate = delegate }
        if task.taskDelegate != nil {
            queue.enqueue { task.taskDelegate?.urlSession(self, didCreateTask: task) }
        }
        return task
    }

    /// Forgets a task whose last call has been delivered. On the delegate queue.
    func forget(_ task: URLSessionTask) {
        let identifier = task.taskIdentifier
        background?.remove(identifier)
        let wasLastAwaited = shared.withLock { shared in
            shared.tasks[identifier] = nil
            return shared.awaited.remove(identifier) != nil && shared.awaited.isEmpty
        }
        if wasLastAwaited { finishEvents() }
        becomeInvalidIfDone()
    }

    func becomeInvalidIfDone() {
        let isDone = shared.withLock { shared in
            switch shared.life {
            case .valid, .invalid: return false
            case .finishing, .cancelling: break
            }
            guard shared.tasks.isEmpty else { return false }
            shared.life = .invalid
            return true
        }
        if isDone { tellInvalid(nil) }
    }

    /// The last call of the session.
    func tellInvalid(_ error: URLError?) {
        background?.close()
        NetworkActor.post { self.pool.close() }
        queue.enqueue {
            self.delegate?.urlSession(self, didBecomeInvalidWithError: error)
            // Released outside the lock: its deinitialiser may call the session.
            let released = self.shared.withLock { shared in
                defer { shared.delegate = nil }
                return shared.delegate
            }
            withExtendedLifetime(released) {}
        }
    }

    var unfinishedTasks: [URLSessionTask] {
        shared.withLock { Array($0.tasks.values) }
            .filter { $0.state != .completed }
            .sorted { $0.taskIdentifier < $1.taskIdentifier }
    }
}
