import Foundation
internal import PurlConnections
internal import PurlIO
import Synchronization

/// The tasks that an earlier process left to a background session, until each has had its last call.
///
/// The calls about them wait for a moment, so that the program can ask for its tasks before it receives their results.
final class RestoredTasks: Sendable {
    private struct State {
        /// The identifiers of the tasks that are still to have their last call.
        var unfinished: Set<Int> = []
        var calls: [DelegateQueue.Call] = []
    }

    private let state = Mutex(State())

    /// Makes a task for each one in the store's journal.
    func restore(from store: BackgroundStore, to session: URLSession) -> [URLSessionTask] {
        let tasks = store.restored.map { journaled in
            if let finished = journaled.finished, journaled.ending != .cancelled {
                restore(journaled, finished, to: session)
            } else {
                restoreUnfinished(journaled, to: session)
            }
        }
        if !tasks.isEmpty {
            state.withLock { state in
                // Where all are suspended, no last call follows that would say so.
                if state.unfinished.isEmpty { state.calls.append { session.reportFinishedEvents() } }
            }
            // Until the calls are made they keep the session.
            Self.afterGrace(by: session.settings.graceClock) { [weak session] in
                if let session { self.deliver(on: session.queue) }
            }
        }
        return tasks
    }

    /// Runs `body` when the program has had time for what it does first with a new session: ask for its tasks, or make some.
    static func afterGrace(by clock: SessionClock, _ body: @escaping @Sendable @NetworkActor () -> Void) {
        NetworkActor.post { _ = clock.schedule(after: .milliseconds(250), body) }
    }

    /// Puts the calls about the tasks into the delegate queue, the first time.
    func deliver(on queue: DelegateQueue) {
        let calls = state.withLock { state in
            defer { state.calls = [] }
            return state.calls
        }
        for call in calls { queue.enqueue(call) }
    }

    /// Removes a task whose last call has been delivered. True if it was the last one.
    func remove(_ task: URLSessionTask) -> Bool {
        state.withLock { $0.unfinished.remove(task.taskIdentifier) != nil && $0.unfinished.isEmpty }
    }

    // MARK: Making tasks

    /// The task with resume data for the bytes that count, which may be more than the journal's if the process was killed;
    /// without any if there are none.
    private func settled(_ journaled: JournaledTask, in session: URLSession) -> JournaledTask {
        guard let resume = journaled.resume, resume.state == .writing else { return journaled }
        var settled = journaled
        settled.begun = resume.partialName
        do {
            let file = try PartialFile(named: resume.partialName, in: session.partials)
            settled.resume = try file.flatMap {
                try resume.settled(for: $0, inBoot: session.settings.files.bootIdentifier)
            }
        } catch {
            // For lack of descriptors, perhaps: the transfer looks again.
        }
        return settled
    }

    /// Makes a task whose whole body has arrived, while its delegate has not returned from the call with the file.
    private func restore(
        _ journaled: JournaledTask, _ finished: JournaledTask.Finished, to session: URLSession
    ) -> URLSessionTask {
        let file = try? PartialFile(named: finished.partialName, in: session.partials)
        if let file, !finished.describes(file) {
            // It was safe before the journal said so: whatever has changed it, none of its bytes can be trusted. The journal
            // knows before the file is gone, which would look like one that the delegate has moved.
            do {
                try session.background?.updateDurably(journaled.identifier) { $0 = $0.withoutFile }
                file.remove()
            } catch {
                // The next process compares it once more.
            }
            return restoreUnfinished(journaled.withoutFile, to: session)
        }
        // A file that was handed over, and is gone, is where the delegate wanted it. One that is there and cannot be opened,
        // or is locked, has not been delivered.
        let isDelivered = finished.isHandedOver && session.partials.isMissing(finished.partialName)
        guard file != nil || isDelivered else { return restoreUnfinished(journaled, to: session) }
        let task = makeTask(journaled, .request, for: session)
        task.restoreFinished(finished.response, length: finished.length)
        addLastCalls(about: task, of: session, file: file) { nil }
        return task
    }

    private func restoreUnfinished(_ unsettled: JournaledTask, to session: URLSession) -> URLSessionTask {
        let journaled = settled(unsettled, in: session)
        if journaled.resume == nil { removePartial(journaled.begun, of: session) }
        switch journaled.ending {
        case nil, .failed:
            guard session.settings.continuesDownloadsAfterRelaunch else {
                return restoreEnded(journaled, .endedWithProcess, journaled.resume, to: session)
            }
            return restoreRunning(journaled, to: session)
        case .stopped:
            return restoreEnded(journaled, .cancelled, journaled.resume, to: session)
        case .cancelled:
            removePartial(journaled.partialName, of: session)
            return restoreEnded(journaled, .cancelled, nil, to: session)
        }
    }

    private func removePartial(_ name: String?, of session: URLSession) {
        name.flatMap { try? PartialFile(named: $0, in: session.partials) }?.remove()
    }

    /// Makes a task that only delivers its completion: an error, with what it takes to resume.
    private func restoreEnded(
        _ journaled: JournaledTask, _ failure: TransferFailure, _ resume: ResumeData?, to session: URLSession
    ) -> URLSessionTask {
        let download = (try? resume?.encoded()).map { ErrorResumeData.download($0) }
        // A cancelled task leaves nothing.
        let upload = journaled.ending == .cancelled ? nil : try? journaled.upload?.encoded()
        let blob = download ?? upload.map { .upload($0) }
        let task = makeTask(journaled, .request, for: session)
        task.restoreCancelled()
        addLastCalls(about: task, of: session, file: nil) {
            failure.urlError(for: task.currentRequest?.url, resumeData: blob)
        }
        return task
    }

    /// Makes a task that resumes its transfer, unless the program had suspended it.
    private func restoreRunning(_ journaled: JournaledTask, to session: URLSession) -> URLSessionTask {
        // It runs again: a task that the program makes of the resume data it had does not replace it.
        if journaled.ending == .failed { try? session.background?.update(journaled.identifier) { $0.ending = nil } }
        let task = makeTask(journaled, journaled.resume.map { .restored($0) } ?? .request, for: session)
        if journaled.isRunning { add(task) { task.beginAgain() } }
        return task
    }

    private func makeTask(
        _ journaled: JournaledTask, _ source: TransferSource, for session: URLSession
    ) -> URLSessionTask {
        let request = journaled.originalRequest.request
        let task =
            if let path = journaled.uploadedFile {
                URLSessionUploadTask(
                    session: session, identifier: journaled.identifier, request: request,
                    source: journaled.upload.map { .resumedUpload($0) } ?? .upload(.file(URL(fileURLWithPath: path))),
                    consumer: .delegate)
            } else {
                URLSessionDownloadTask(
                    session: session, identifier: journaled.identifier, request: request, source: source,
                    consumer: .delegate)
            }
        task.restore(journaled)
        return task
    }

    /// Nothing is left to transfer: only the last calls are to be made.
    private func addLastCalls(
        about task: URLSessionTask, of session: URLSession, file: PartialFile?,
        _ failure: @escaping @Sendable () -> URLError?
    ) {
        add(task) { LastCalls(ofRestored: task, in: session).callDelegate(failure(), file: file) }
    }

    private func add(_ task: URLSessionTask, _ call: @escaping DelegateQueue.Call) {
        state.withLock { state in
            state.unfinished.insert(task.taskIdentifier)
            state.calls.append(call)
        }
    }
}
