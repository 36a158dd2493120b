import Foundation
import Purl
internal import PurlIO
import Synchronization

/// Keeps `FILE.upload` in step with an upload of FILE while it runs, so that whatever ends the process leaves a record.
///
/// The record is that of the command which has FILE locked. Another file may take FILE's name meanwhile; once the library, which
/// examines the file before it sends more of it, starts over with that one, its record is this command's unless another command
/// has locked it.
final class UploadRecordKeeper: Sendable {
    private enum Saving {
        case works
        /// The file that is sent has lost its name: no other command can resume it.
        case needless
        /// The record cannot be written, and that was said.
        case failed
    }

    private struct State {
        var lock: FileLock
        var saving = Saving.works
    }

    private let file: URL
    private let url: URL
    private let method: String
    private let files: any FileLayer
    private let messages: MessagePrinter
    private let trace: VerboseLog
    private let state: Mutex<State>

    /// - Parameters:
    ///   - lock: The lock on the file.
    ///   - files: What the record is written through.
    init(
        of file: URL, _ lock: FileLock, to options: PutOptions, through files: any FileLayer,
        _ messages: MessagePrinter, _ trace: VerboseLog
    ) {
        self.file = file
        self.files = files
        url = options.url
        method = options.method
        self.messages = messages
        self.trace = trace
        state = Mutex(State(lock: lock))
    }

    /// Whether the latest record was saved.
    var keepsRecord: Bool { state.withLock { $0.saving } == .works }

    /// Saves what it takes to resume the upload; without it, removes the record.
    func update(_ resumeData: Data?) {
        let failure = state.withLock { state -> CommandFailure? in
            do throws(CommandFailure) {
                if let resumeData, try follow(&state, resumeData), let status = state.lock.status {
                    try save(resumeData, status)
                    state.saving = .works
                    return nil
                }
                if let identity = state.lock.status?.identity {
                    UploadRecord.remove(for: file, identity, of: url, method, through: files)
                }
                state.saving = resumeData == nil ? .works : .needless
                return nil
            } catch {
                defer { state.saving = .failed }
                return state.saving == .failed ? nil : error
            }
        }
        if let failure { messages.info("\(failure.sentence) The upload cannot be resumed by another command.") }
    }

    /// Locks the file that has the name by now. False when there is none, or the one whose bytes are sent has lost its name;
    /// throws when it is another command's.
    private func follow(_ state: inout State, _ resumeData: Data) throws(CommandFailure) -> Bool {
        let place = file.withoutLinks
        if state.lock.isFound(at: place) { return true }
        guard let present = FileEntry(at: place).regularFile, let sent = UploadResumeRecord(resumeData),
            sent.mayBe(of: present)
        else { return false }
        do throws(FileLock.Failure) {
            state.lock = try FileLock(place, through: files)
            return true
        } catch {
            switch error {
            case .cannotOpen: return false
            case .taken: throw CommandFailure("“\(file.lastPathComponent)” is being uploaded by another process, too.")
            }
        }
    }

    private func save(_ resumeData: Data, _ status: FileStatus) throws(CommandFailure) {
        // The file may have been written to since its bytes were sent: what was sent decides whether the upload is resumed.
        let sent = UploadResumeRecord(resumeData).map {
            FileStatus(identity: status.identity, length: $0.length, modified: $0.modified)
        }
        try UploadRecord(of: sent ?? status, to: url, method: method, resumeData: resumeData)
            .save(for: file, through: files)
        trace.call("observeResumeData", "saved as “\(UploadRecord.place(for: file).lastPathComponent)”")
    }
}
