import Foundation
internal import PurlHTTP
internal import PurlIO

/// What resume data records about the bytes on disk: enough to show a progress before a request is sent.
///
/// Whether the transfer can really be resumed turns out when a task resumes it: the task examines the bytes, and the server
/// decides.
public struct ResumeRecord: Sendable, Equatable {
    /// The URL the transfer began with.
    public let url: URL
    /// How many bytes are there to resume from: those that were recorded, and, of a transfer that was killed since the
    /// machine booted, those that it wrote after that. 0 when it cannot be resumed.
    public let bytesReceived: Int64
    /// The length of the whole resource, if the server has sent it.
    public let totalBytes: Int64?
    /// The strong entity tag or the date that names the version the bytes belong to.
    public let validator: String?
    private let resume: ResumeData

    /// Reads resume data; `nil` when it cannot be read.
    ///
    /// - Parameter resumeData: From a cancelled or failed download, or the record beside a sink's file.
    public init?(_ resumeData: Data) {
        self.init(resumeData, count: { _ in nil })
    }

    /// Reads a file; `nil` when it cannot be read or is something else.
    ///
    /// - Parameter file: Where resume data, or a sink's record, was saved. If the sink's file is beside its record, its
    ///   bytes are counted.
    public init?(contentsOf file: URL) {
        let folder = file.deletingLastPathComponent()
        self.init(contentsOf: file) { folder.appendingPathComponent($0.partialName) }
    }

    /// Reads the record of a sink; `nil` when it cannot be read or is something else.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - file: The sink's file, whose bytes are counted.
    package init?(contentsOf record: URL, of file: URL) {
        self.init(contentsOf: record) { _ in file }
    }

    private init?(contentsOf record: URL, file: (ResumeData) -> URL) {
        guard let data = try? RecordFile(url: record).load() else { return nil }
        self.init(data) { $0.count(inFileAt: file($0)) }
    }

    /// - Parameter count: How many bytes count; `nil` when there is no such file.
    private init?(_ data: Data, count: (ResumeData) -> Int64?) {
        guard let resume = try? ResumeData(decoding: data), let url = URL(string: resume.originalRequest.url)
        else { return nil }
        self.url = url
        bytesReceived = count(resume) ?? resume.claim(inBoot: Boot.identifier).verified.count
        totalBytes = resume.totalBytes
        validator = resume.validator?.fieldText
        self.resume = resume
    }

    /// Whether the file begins with the bytes that the record counts, as far as their number and their end can tell.
    ///
    /// - Parameter file: A file; what a symbolic link leads to does not count.
    package func describes(fileAt file: URL) -> Bool {
        bytesReceived > 0 && resume.count(inFileAt: file) == bytesReceived
    }

    /// Whether the record was made of a complete file, and this is it, as far as its length and its end can tell. The record
    /// of a transfer that was killed does not: its bytes need not be those of `file`.
    package func describesComplete(fileAt file: URL) -> Bool {
        let recorded = resume.claim(inBoot: Boot.identifier).verified.count
        guard recorded == totalBytes, let whole = try? RegularFile(reading: file.path, followsLinks: false).size()
        else {
            return false
        }
        return whole == recorded && resume.count(inFileAt: file) == recorded
    }
}

extension ResumeData {
    /// How many bytes of the file at `url` count; `nil` when it is not the one that this data describes.
    fileprivate func count(inFileAt url: URL) -> Int64? {
        guard let file = try? RegularFile(reading: url.path, followsLinks: false), let length = try? file.size() else {
            return nil
        }
        return try? count(ofLength: length, inBoot: Boot.identifier) { range in
            try file.read(range.count, at: range.lowerBound)
        }
    }
}
