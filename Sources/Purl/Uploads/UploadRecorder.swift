import Foundation
internal import PurlIO

/// Passes on what it takes to resume an upload, whenever that changes: to the journal of a background session, and to the
/// observer of the task.
///
/// The file is read for it, on another thread. One state at a time is on its way, and only the latest one follows it: the
/// last state that is passed on is never an older one.
@NetworkActor
final class UploadRecorder {
    /// What it takes to resume the upload at one moment.
    private struct Snapshot: Sendable {
        /// `nil` when the upload cannot be resumed any more.
        let resumeData: UploadResumeData?
        let sent: Int64

        /// Blocks.
        func digested() -> UploadResumeData? { resumeData?.digested(upTo: sent) }
    }

    private typealias Completion = @NetworkActor () -> Void

    private enum State {
        case idle
        /// - Parameter completion: The task's, where it waits for what is on its way.
        case recording(next: Snapshot?, Completion?)
        /// Nothing may follow the task's completion.
        case over
    }

    private let calls: DelegateCalls
    private let background: BackgroundStore?
    private var state = State.idle

    init(_ calls: DelegateCalls, in session: URLSession) {
        self.calls = calls
        background = session.background
    }

    /// The upload has changed.
    ///
    /// - Parameters:
    ///   - resumeData: What it takes to resume it now, without a digest; `nil` when it cannot be resumed.
    ///   - sent: How much of the content has been sent.
    func record(_ resumeData: UploadResumeData?, sent: Int64) {
        guard keepsJournal || calls.task.resumeDataObserver != nil else { return }
        let snapshot = Snapshot(resumeData: resumeData?.underWay, sent: sent)
        switch state {
        case .idle: write(snapshot)
        case .recording(_, let completion): state = .recording(next: snapshot, completion)
        case .over: break
        }
    }

    /// The task is about to complete: what is on its way comes before that. A response says nothing of how to resume the
    /// upload, and of a failure the program may make another task, whose journal entry replaces this one's.
    func end(then completion: @escaping @NetworkActor () -> Void) {
        if case .recording(let next, _) = state {
            state = .recording(next: next, completion)
        } else {
            state = .over
            completion()
        }
    }

    private var keepsJournal: Bool {
        guard background != nil, case .delegate = calls.task.consumer else { return false }
        return true
    }

    private func write(_ snapshot: Snapshot, before completion: Completion? = nil) {
        state = .recording(next: nil, completion)
        let journal = keepsJournal ? background : nil
        let observer = calls.task.resumeDataObserver
        Worker.shared.run(on: .files) { [identifier = calls.task.taskIdentifier] in
            let record = snapshot.digested()
            // What cannot be written now is written with the task's next change.
            try? journal?.update(identifier) { task in
                if task.uploadedFile != nil { task.upload = record }
            }
            return observer == nil ? nil : try? record?.encoded()
        } then: { [self] (blob: Data?) in
            guard case .recording(let next, let completion) = state else { return }
            if let observer { calls.reportResumeData(blob, to: observer) }
            if let next { return write(next, before: completion) }
            state = completion == nil ? .idle : .over
            completion?()
        }
    }
}
