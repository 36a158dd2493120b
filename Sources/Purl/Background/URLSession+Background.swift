import Foundation
internal import PurlIO

/// What makes a session a background session: its tasks are entered into a journal, and those of an earlier process
/// come back.
extension URLSession {
    /// How long the calls about an earlier process's tasks wait for the program to ask for its tasks first.
    private static let grace = Duration.milliseconds(250)

    /// `nil` for a session that is not a background session.
    static func openStore(
        _ settings: URLSessionConfiguration.Values
    ) -> Result<BackgroundStore, BackgroundStore.Refusal>? {
        guard let identifier = settings.identifier else { return nil }
        return Result { () throws(BackgroundStore.Refusal) in
            try BackgroundStore(identifier: identifier, settings: settings)
        }
    }

    /// The session is invalid from the start: so its delegate hears, and so end the tasks that are made all the same.
    func refuse(_ failure: TransferFailure) {
        shared.withLock { shared in
            shared.life = .invalid
            shared.refusal = failure
        }
        tellInvalid(failure.urlError(for: nil))
    }

    /// Where the session's unfinished downloads lie.
    var partials: PartialsFolder {
        background?.partials ?? PartialsFolder(settings.partialDownloadsDirectory, files: settings.files)
    }

    /// From here on the task outlives the process. Others do not: a data task's bytes are its delegate's, as those of a
    /// stream are its user's, and a completion handler cannot be called by another process.
    ///
    /// - Parameters:
    ///   - resume: What it goes on from.
    ///   - file: What it uploads.
    func enterIntoJournal(_ task: URLSessionTask, _ resume: ResumeData?, uploading file: URL? = nil) {
        guard let background, case .delegate = task.consumer, let request = task.originalRequest,
            file != nil || request.httpBodyStream == nil
        else { return }
        let record = TaskRecord(
            identifier: task.taskIdentifier, taskDescription: task.taskDescription, priority: task.priority,
            originalRequest: StoredRequest(request), isRunning: task.state == .running, resume: resume,
            uploadedFile: file?.absoluteURL.path)
        do throws(FileFailure) {
            try background.add(record)
        } catch {
            task.refuse(.file(error))
        }
    }

    // MARK: Coming back

    /// Brings back the tasks that an earlier process left. The calls about them wait for a moment, so that the program
    /// can ask what has come back before it is told what became of it.
    func restoreTasks(from store: BackgroundStore) {
        for record in store.restored {
            if let finished = record.finished, record.ending != .cancelled {
                restore(record, finished, from: store)
            } else {
                restoreUnfinished(record)
            }
        }
        shared.withLock { $0.lastIdentifier = store.lastIdentifier }
        guard !store.restored.isEmpty else { return }
        NetworkActor.post { [self] in
            _ = EventLoop.shared.schedule(after: Self.grace) { self.deliverRestored() }
        }
    }

    /// Puts the calls about the earlier process's tasks into the delegate queue, the first time.
    func deliverRestored() {
        let calls = shared.withLock { shared in
            defer { shared.restoredCalls = [] }
            return shared.restoredCalls
        }
        for call in calls { queue.enqueue(call) }
    }

    func finishEvents() {
        queue.enqueue { self.delegate?.urlSessionDidFinishEvents(forBackgroundURLSession: self) }
    }

    /// The whole body was there, and its delegate has not finished with it.
    private func restore(_ record: TaskRecord, _ finished: TaskRecord.Finished, from store: BackgroundStore) {
        let file = try? PartialFile(named: finished.partialName, in: partials)
        let isWhole = (try? file?.length) == finished.length
        // A file that was handed over, and is gone, is where the delegate wanted it.
        guard isWhole || finished.isHandedOver else {
            return restoreUnfinished(record)
        }
        let task = makeRestored(record, .request)
        task.restoreEnded(.running, finished)
        deliverLater(task) { task.callDelegateLast(nil, file: isWhole ? file : nil) }
    }

    private func restoreUnfinished(_ record: TaskRecord) {
        if record.resume == nil { record.begun.flatMap { try? PartialFile(named: $0, in: partials) }?.remove() }
        switch record.ending {
        case nil where settings.continuesDownloadsAfterRelaunch: restoreRunning(record)
        case nil: restoreEnded(record, .endedWithProcess, record.resume)
        case .stopped: restoreEnded(record, .cancelled, record.resume)
        case .cancelled:
            record.partialName.flatMap { try? PartialFile(named: $0, in: partials) }?.remove()
            restoreEnded(record, .cancelled, nil)
        }
    }

    /// Only its completion is to be delivered.
    private func restoreEnded(_ record: TaskRecord, _ failure: TransferFailure, _ resume: ResumeData?) {
        let blob = try? resume?.encoded()
        let task = makeRestored(record, .request)
        task.restoreEnded(.canceling)
        deliverLater(task) {
            task.callDelegateLast(failure.urlError(for: task.currentRequest?.url, resumeData: blob), file: nil)
        }
    }

    /// It goes on, if it was not suspended.
    private func restoreRunning(_ record: TaskRecord) {
        let task = makeRestored(record, record.resume.map { .restored($0) } ?? .request)
        guard record.isRunning else { return }
        shared.withLock { $0.restoredCalls.append { task.resume() } }
        shared.withLock { _ = $0.awaited.insert(record.identifier) }
    }

    private func makeRestored(_ record: TaskRecord, _ source: TransferSource) -> URLSessionTask {
        let request = record.originalRequest.request
        let task =
            if let path = record.uploadedFile {
                URLSessionUploadTask(
                    session: self, identifier: record.identifier, request: request,
                    source: .upload(.file(URL(fileURLWithPath: path))), consumer: .delegate)
            } else {
                URLSessionDownloadTask(
                    session: self, identifier: record.identifier, request: request, source: source,
                    consumer: .delegate)
            }
        task.restore(record)
        shared.withLock { $0.tasks[record.identifier] = task }
        return task
    }

    /// There is nothing left to transfer: only the last calls are to be made.
    private func deliverLater(_ task: URLSessionTask, _ call: @escaping DelegateQueue.Call) {
        shared.withLock { shared in
            shared.awaited.insert(task.taskIdentifier)
            shared.restoredCalls.append(call)
        }
    }
}

extension TaskRecord.Finished {
    var response: HTTPURLResponse? {
        URL(string: url).flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        }
    }

    /// - Parameter response: The answer to the last request.
    init(of partial: PartialFile, length: Int64, response: URLResponse?) {
        partialName = partial.name
        self.length = length
        let response = response as? HTTPURLResponse
        url = response?.url?.absoluteString ?? ""
        status = response?.statusCode ?? 0
        headers = response?.stringFields ?? [:]
    }
}
