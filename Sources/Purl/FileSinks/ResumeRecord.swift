import Foundation
internal import PurlHTTP
package import PurlIO

/// What resume data records about the bytes on disk: enough to show a progress before a request is sent.
///
/// Whether the transfer can really be resumed turns out when a task resumes it: the task examines the bytes, and the server
/// decides.
public struct ResumeRecord: Sendable, Equatable, CustomStringConvertible {
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
    private let files: any FileLayer

    public static func == (left: ResumeRecord, right: ResumeRecord) -> Bool {
        // The rest follows from these.
        left.resume == right.resume && left.bytesReceived == right.bytesReceived
    }

    /// The URL, without a password, and how much is there: `http://example.org/film: 12 of 40 bytes, "v1"`.
    public var description: String {
        let amount = totalBytes.map { "\(bytesReceived) of \($0) bytes" } ?? "\(bytesReceived) bytes"
        return "\(url.shownText): \(amount)" + (validator.map { ", \($0)" } ?? "")
    }

    /// Reads resume data; `nil` when it cannot be read.
    ///
    /// - Parameter resumeData: From a cancelled or failed download, or the record beside a sink's file.
    public init?(_ resumeData: Data) {
        self.init(resumeData, through: SystemFiles(), count: { _ in nil })
    }

    /// Reads a file; `nil` when it cannot be read or is something else.
    ///
    /// - Parameter file: Where resume data, or a sink's record, was saved. If the sink's file is beside its record, its
    ///   bytes are counted.
    public init?(contentsOf file: URL) {
        self.init(contentsOf: file, through: SystemFiles())
    }

    /// Reads a file through a layer, and counts the bytes of the sink's file beside it.
    package init?(contentsOf file: URL, through files: any FileLayer) {
        let folder = file.deletingLastPathComponent()
        self.init(contentsOf: file, through: files) { folder.appendingPathComponent($0.partialName) }
    }

    /// Reads the record of a sink; `nil` when it cannot be read or is something else.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - file: The sink's file, whose bytes are counted.
    ///   - files: What both are read through.
    package init?(contentsOf record: URL, of file: URL, through files: any FileLayer = SystemFiles()) {
        self.init(contentsOf: record, through: files) { _ in file }
    }

    /// Reads the record of a sink, and counts the bytes of the sink's file; `nil` when it is something else.
    package init?(_ record: Data, of file: URL, through files: any FileLayer) {
        self.init(record, through: files) { $0.count(inFileAt: file, through: files) }
    }

    private init?(contentsOf record: URL, through files: any FileLayer, file: (ResumeData) -> URL) {
        guard let data = try? RecordFile(url: record, through: files).load() else { return nil }
        self.init(data, through: files) { $0.count(inFileAt: file($0), through: files) }
    }

    /// - Parameter count: How many bytes count; `nil` when there is no such file.
    private init?(_ data: Data, through files: any FileLayer, count: (ResumeData) -> Int64?) {
        guard let resume = try? ResumeData(decoding: data), let url = URL(string: resume.originalRequest.url)
        else { return nil }
        self.url = url
        bytesReceived = count(resume) ?? resume.claim(inBoot: files.bootIdentifier).verified.count
        totalBytes = resume.totalBytes
        validator = resume.validator?.fieldText
        self.resume = resume
        self.files = files
    }

    /// Which parts of the resource a file holds, when several connections have filled it; `nil` when they follow one another.
    ///
    /// - Parameter file: A file; what a symbolic link leads to does not count.
    package func ranges(inFileAt file: URL) -> [Range<Int64>]? {
        guard let file = try? files.open(file.path, .reading), let length = try? file.size() else { return nil }
        let journal = try? RangeJournal(of: resume, length: length, inBoot: files.bootIdentifier) { range in
            try file.read(range.count, at: range.lowerBound)
        }
        return journal?.present
    }

    /// Whether the file begins with the bytes that the record counts, as far as their number and their end can tell.
    ///
    /// - Parameter file: A file; what a symbolic link leads to does not count.
    package func describes(fileAt file: URL) -> Bool {
        bytesReceived > 0 && resume.count(inFileAt: file, through: files) == bytesReceived
    }

    /// Whether the record was made of a complete file, and this is it, as far as its length and its end can tell. The record
    /// of a transfer that was killed does not: its bytes need not be those of `file`.
    package func describesComplete(fileAt file: URL) -> Bool {
        let recorded = resume.claim(inBoot: files.bootIdentifier).verified.count
        guard recorded == totalBytes, files.entry(file.path).regularFile?.length == recorded else { return false }
        return resume.count(inFileAt: file, through: files) == recorded
    }
}

extension ResumeData {
    /// How many bytes of the file at `url` count; `nil` when it is not the one that this data describes.
    fileprivate func count(inFileAt url: URL, through files: any FileLayer) -> Int64? {
        guard let file = try? files.open(url.path, .reading), let length = try? file.size() else { return nil }
        let boot = files.bootIdentifier
        func read(_ range: Range<Int64>) throws -> Data { try file.read(range.count, at: range.lowerBound) }
        return try? RangeJournal(of: self, length: length, inBoot: boot, read: read)?.presentCount
            ?? count(ofLength: length, inBoot: boot, read: read)
    }
}
