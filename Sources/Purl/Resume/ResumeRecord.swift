import Foundation

/// What resume data says about the bytes that are there: enough to show a progress before anything is asked of a
/// server.
///
/// Whether the bytes can really be gone on with is decided when a task does so, by a closer look at them and by the
/// server.
public struct ResumeRecord: Sendable, Equatable {
    /// The URL the transfer began with.
    public let url: URL
    /// How many bytes were known to be on disk.
    public let bytesReceived: Int64
    /// The length of the whole, if the server said.
    public let totalBytes: Int64?
    /// The strong entity tag or the date that names the version the bytes belong to.
    public let validator: String?

    /// - Parameter resumeData: From a cancelled or failed download, or the record beside a sink's file. `nil` comes of
    ///   data that cannot be read.
    public init?(_ resumeData: Data) {
        guard let resume = try? ResumeData(decoding: resumeData), let url = URL(string: resume.originalRequest.url)
        else { return nil }
        self.url = url
        bytesReceived = resume.bytesReceived
        totalBytes = resume.totalBytes
        validator = resume.validator
    }

    /// - Parameter file: Where resume data, or a sink's record, was saved. `nil` comes of a file that cannot be read or
    ///   is something else.
    public init?(contentsOf file: URL) {
        guard let data = try? RecordFile(url: file).load() else { return nil }
        self.init(data)
    }
}
