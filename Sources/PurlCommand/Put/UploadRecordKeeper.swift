import Foundation
import Purl
import Synchronization

/// Keeps `FILE.upload` in step with an upload of FILE while it runs, so that whatever ends the process leaves a record.
final class UploadRecordKeeper: Sendable {
    private enum State {
        case saving
        /// The record cannot be written, and that was said.
        case failed
    }

    private let file: URL
    /// The file that the command has begun with.
    private let identity: FileEntry.Identity
    private let url: URL
    private let method: String
    private let messages: MessagePrinter
    private let trace: VerboseLog
    private let state = Mutex(State.saving)

    /// - Parameter entry: What the file is.
    init(
        of file: URL, _ entry: FileEntry.RegularFile, to options: PutOptions, _ messages: MessagePrinter,
        _ trace: VerboseLog
    ) {
        self.file = file
        identity = entry.identity
        url = options.url
        method = options.method
        self.messages = messages
        self.trace = trace
    }

    /// Whether the latest record could be saved.
    var keepsRecord: Bool { state.withLock { $0 } == .saving }

    /// Saves what it takes to resume the upload; without it, removes the record.
    func update(_ resumeData: Data?) {
        // The library examines the file before it sends more of it: if this is another one by now, it starts over.
        guard let resumeData, let entry = FileEntry(at: file, followingLinks: true).regularFile else {
            UploadRecord.remove(for: file, identity, of: url, method)
            return
        }
        do throws(CommandFailure) {
            try UploadRecord(of: entry, to: url, method: method, resumeData: resumeData).save(for: file)
            state.withLock { $0 = .saving }
            trace.call("observeResumeData", "saved as “\(UploadRecord.place(for: file).lastPathComponent)”")
        } catch {
            let isFirst = state.withLock { state in
                defer { state = .failed }
                return state == .saving
            }
            if isFirst { messages.info("\(error.sentence) The upload cannot be resumed by another command.") }
        }
    }
}
