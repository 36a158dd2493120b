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

    var identifier: Int
    var taskDescription: String?
    var priority: Float
    var originalRequest: StoredRequest
    /// It was resumed, and not suspended since.
    var isRunning = false
    /// What it takes to go on; absent until a byte is safe, and when the response cannot be resumed.
    var resume: ResumeData?
    var finished: Finished?

    /// The partial file it speaks of.
    var partialName: String? { finished?.partialName ?? resume?.partialName }

    /// A journal is read back from disk, where anything may have happened to it: only what this code would have
    /// written counts. Resume data that does not pass is dropped, so that the task starts over.
    func checked() -> TaskRecord? {
        guard identifier > 0, identifier < Int.max / 2, originalRequest.hasURL else { return nil }
        if let finished, !PartialFile.isName(finished.partialName) || finished.length < 0 { return nil }
        var record = self
        if let resume, !resume.isSound { record.resume = nil }
        return record
    }
}
