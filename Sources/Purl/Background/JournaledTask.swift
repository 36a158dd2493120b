import Foundation
internal import PurlConnections

/// A task of a background session as its journal keeps it: enough to make it again in another process.
struct JournaledTask: Codable, Sendable, Equatable {
    /// A download whose whole body is on disk while its completion has not been delivered.
    struct Finished: Codable, Sendable, Equatable {
        var partialName: String
        var length: Int64
        /// The SHA-256 of its last 64 KiB, by which damage is noticed; absent in journals of earlier versions.
        var tailDigest: String?
        var url: String
        var status: Int
        var headers: [String: String]
        /// The delegate has been called with the file, and may have moved it.
        var isHandedOver = false
    }

    /// How the task ended before its completion was delivered.
    enum Ending: String, Codable, Sendable {
        /// The program called `cancel()`: no resume data and no file remain.
        case cancelled
        /// The program called `cancel(byProducingResumeData:)`: it may hold the resume data already.
        case stopped
        /// The transfer failed, and the last calls have begun: the program may hold the resume data already. The next process
        /// treats the task as one that was running, unless another one was made from that.
        case failed
    }

    var identifier: Int
    var taskDescription: String?
    var priority: Float
    var originalRequest: StoredRequest
    /// Whether the task was resumed, and has not been suspended since.
    var isRunning = false
    var ending: Ending?
    /// What the download resumes from; absent until a byte is safe, and when the response cannot be resumed.
    var resume: ResumeData?
    var finished: Finished?
    /// The name of the partial file that was begun; of no use until there is resume data.
    var begun: String?
    /// The path of the file that an upload sends; absent for downloads.
    var uploadedFile: String?
    /// What the upload resumes from; absent until a server has offered to take it in parts.
    var upload: UploadResumeData?
    /// The task that had ended when this one was made from its resume data, though its last call had not returned.
    var replaces: Int?
    /// The task's `earliestBeginDate`.
    var earliestBeginDate: Date?
    /// What the program has said that the task will send and receive at most.
    var expectsToSend: Int64?
    var expectsToReceive: Int64?

    /// The identifiers that a task can have.
    static let identifiers = 1..<Int.max / 2

    /// The name of the task's partial file.
    var partialName: String? { finished?.partialName ?? resume?.partialName ?? begun }

    /// The task without its partial file: it starts over.
    var withoutFile: JournaledTask {
        var record = self
        record.finished = nil
        record.resume = nil
        record.begun = nil
        return record
    }

    /// The task, if this code could have written it: anything may have happened to a journal on disk. Resume data that
    /// is not sound is dropped, so that the task starts over.
    func checked() -> JournaledTask? {
        guard originalRequest.hasURL else { return nil }
        if let finished, !PartialFile.isName(finished.partialName) || finished.length < 0 { return nil }
        // An upload leaves no part of a file.
        if let uploadedFile,
            !uploadedFile.hasPrefix("/") || uploadedFile.utf8.contains(0) || resume != nil || finished != nil
        {
            return nil
        }
        var record = self
        record.priority = RequestPriority.clamped(priority)
        if let upload, !upload.isSound || upload.path == nil || upload.path != uploadedFile { record.upload = nil }
        if let begun, !PartialFile.isName(begun) { record.begun = nil }
        if let resume, !resume.isSound || resume.originalRequest.url != originalRequest.url { record.resume = nil }
        return record
    }
}

extension JournaledTask.Finished {
    var response: HTTPURLResponse? {
        URL(string: url).flatMap {
            HTTPURLResponse(url: $0, statusCode: status, httpVersion: "HTTP/1.1", headerFields: headers)
        }
    }

    /// - Parameter response: The response to the last request.
    init(of partial: PartialFile, length: Int64, response: URLResponse?) throws {
        partialName = partial.name
        self.length = length
        tailDigest = try partial.tailDigest(endingAt: length)
        let response = response as? HTTPURLResponse
        url = response?.url?.absoluteString ?? ""
        status = response?.statusCode ?? 0
        headers = response?.stringFields ?? [:]
    }

    /// Whether the file is as the transfer has left it, as far as it can be read.
    func describes(_ file: PartialFile) -> Bool {
        guard (try? file.length) == length else { return false }
        guard let tailDigest, let found = try? file.tailDigest(endingAt: length) else { return true }
        return found == tailDigest
    }
}

/// One line of a background session's journal: `{"task":{…}}` or `{"over":3}`.
enum JournalEntry: Sendable {
    /// The whole state of a task.
    case task(JournaledTask)
    /// The last call about the task with this identifier has been delivered.
    case over(Int)

    var identifier: Int {
        switch self {
        case .task(let record): record.identifier
        case .over(let identifier): identifier
        }
    }

    private static let infinity = "inf"
    private static let negativeInfinity = "-inf"
    private static let notANumber = "nan"

    private struct Form: Codable {
        var task: JournaledTask?
        var over: Int?
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A request may have an infinite time-out, for which JSON has no number.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: Self.infinity, negativeInfinity: Self.negativeInfinity, nan: Self.notANumber)
        return switch self {
        case .task(let record): try encoder.encode(Form(task: record))
        case .over(let identifier): try encoder.encode(Form(over: identifier))
        }
    }

    init?(decoding entry: Data) {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: Self.infinity, negativeInfinity: Self.negativeInfinity, nan: Self.notANumber)
        guard let form = try? decoder.decode(Form.self, from: entry) else { return nil }
        switch (form.task, form.over) {
        case (let record?, nil) where JournaledTask.identifiers.contains(record.identifier): self = .task(record)
        case (nil, let identifier?) where JournaledTask.identifiers.contains(identifier): self = .over(identifier)
        default: return nil
        }
    }
}
