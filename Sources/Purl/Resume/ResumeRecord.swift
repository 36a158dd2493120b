import Foundation

/// What resume data records about the bytes on disk: enough to show a progress before a request is sent.
///
/// Whether the transfer can really be resumed turns out when a task resumes it: the task examines the bytes, and the server
/// decides.
public struct ResumeRecord: Sendable, Equatable {
    /// The URL the transfer began with.
    public let url: URL
    /// How many bytes were known to be on disk.
    public let bytesReceived: Int64
    /// The length of the whole resource, if the server has sent it.
    public let totalBytes: Int64?
    /// The strong entity tag or the date that names the version the bytes belong to.
    public let validator: String?

    /// Reads resume data; `nil` when it cannot be read.
    ///
    /// - Parameter resumeData: From a cancelled or failed download, or the record beside a sink's file.
    public init?(_ resumeData: Data) {
        guard let resume = try? ResumeData(decoding: resumeData), let url = URL(string: resume.originalRequest.url)
        else { return nil }
        self.url = url
        bytesReceived = resume.bytesReceived
        totalBytes = resume.totalBytes
        validator = resume.validator
    }

    /// Reads a file; `nil` when it cannot be read or is something else.
    ///
    /// - Parameter file: Where resume data, or a sink's record, was saved.
    public init?(contentsOf file: URL) {
        guard let data = try? RecordFile(url: file).load() else { return nil }
        self.init(data)
    }
}
