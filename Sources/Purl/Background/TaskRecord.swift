import Foundation

/// What the journal keeps of one task of a background session: enough to bring it back in another process.
struct TaskRecord: Codable, Sendable, Equatable {
    /// The whole body, on disk, while the delegate has not been told.
    struct Finished: Codable, Sendable, Equatable {
        var partialName: String
        var length: Int64
        var url: String
        var status: Int
        var headers: [String: String]
        /// The delegate has been called with the file, so that nobody is surprised when it is gone.
        var isHandedOver = false
    }

    /// What the program had told the task when its completion had not been delivered yet.
    enum Ending: String, Codable, Sendable {
        /// `cancel()`: nothing is to be left.
        case cancelled
        /// `cancel(byProducingResumeData:)`: the program may hold the resume data already.
        case stopped
    }

    var identifier: Int
    var taskDescription: String?
    var priority: Float
    var originalRequest: StoredRequest
    /// It was resumed, and not suspended since.
    var isRunning = false
    var ending: Ending?
    /// What it takes to go on; absent until a byte is safe, and when the response cannot be resumed.
    var resume: ResumeData?
    var finished: Finished?
    /// The name of the partial file that was begun. Until there is more to say of it, it is of use to nobody.
    var begun: String?
    /// The path of the file that an upload sends; absent for downloads.
    var uploadedFile: String?
    /// Before that it does not begin.
    var earliestBeginDate: Date?

    /// Those that can have been given.
    static let identifiers = 1..<Int.max / 2

    /// The partial file it speaks of.
    var partialName: String? { finished?.partialName ?? resume?.partialName ?? begun }

    /// A journal is read back from disk, where anything may have happened to it: only what this code would have
    /// written counts. Resume data that does not pass is dropped, so that the task starts over.
    func checked() -> TaskRecord? {
        guard originalRequest.hasURL else { return nil }
        if let finished, !PartialFile.isName(finished.partialName) || finished.length < 0 { return nil }
        // A file that was sent leaves nothing to go on from.
        if let uploadedFile,
            !uploadedFile.hasPrefix("/") || uploadedFile.utf8.contains(0) || resume != nil || finished != nil
        {
            return nil
        }
        var record = self
        record.priority = URLSessionTask.clampedPriority(priority)
        if let begun, !PartialFile.isName(begun) { record.begun = nil }
        if let resume, !resume.isSound || resume.originalRequest.url != originalRequest.url { record.resume = nil }
        return record
    }
}
