import Foundation
internal import PurlConnections
internal import PurlHTTP

/// What it takes to resume a transfer: a property list, so that a person can read it.
///
/// It may come from anywhere, so it is untrusted: ``init(decoding:)`` refuses what this code would not have written, above
/// all names that could lead out of the partials folder.
struct ResumeData: Codable, Sendable, Equatable {
    /// The format written here. Others are refused.
    static let currentVersion = 1
    /// Blobs beyond this size are not read.
    static let maximumSize = 1 << 20
    /// Greater lengths are neither written nor read: no file has them, and sums of two of these fit in 64 bits.
    static let maximumLength = Int64.max / 2
    /// The resume data that is written here has five dictionaries and arrays.
    private static let maximumContainers = 16

    var version = ResumeData.currentVersion
    var originalRequest: StoredRequest
    var currentRequest: StoredRequest
    /// The partial file's name inside its folder.
    var partialName: String
    /// The bytes that were in the file when this was written.
    var bytesReceived: Int64
    /// The length of the whole resource, if the server has sent it.
    var totalBytes: Int64?
    /// What `If-Range` carries: a strong entity tag or a strong date, with one character for each byte. Absent when only a finished file is recorded.
    var validator: String?
    /// SHA-256 of the last 64 KiB of the bytes received, hexadecimal.
    var tailDigest: String
    /// Whether bytes followed; absent in what earlier versions wrote.
    var state: WritingState?
    /// The boot in which the bytes were written; absent where it is unknown, and in what earlier versions wrote.
    var boot: String?
    /// The bytes that have reached the disk; absent when these are all of ``bytesReceived``.
    var safe: DigestedBytes?

    /// Why a blob is refused.
    struct Refusal: Error, Equatable, CustomStringConvertible {
        let description: String

        /// A download continues only a file that a download has created: the folder may hold other things.
        static let strangeName = Refusal(description: "the partial file's name is not one that a download gives")
    }

    /// Whether the file is complete, though the transfer had stopped before: another task has continued it from the same
    /// data, and it belongs to that one's caller.
    ///
    /// - Parameter length: The file's length; `nil` when there is none.
    func isOvertaken(by length: Int64?) -> Bool {
        state == .stopped && !isComplete && length == totalBytes && length != nil
    }

    /// Every byte the resource has is on disk.
    var isComplete: Bool { totalBytes == bytesReceived }

    func encoded() throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return try encoder.encode(self)
    }

    init(
        originalRequest: StoredRequest, currentRequest: StoredRequest, partialName: String, bytesReceived: Int64,
        totalBytes: Int64?, validator: String?, tailDigest: String, state: WritingState? = nil, boot: String? = nil,
        safe: DigestedBytes? = nil
    ) {
        self.originalRequest = originalRequest
        self.currentRequest = currentRequest
        self.partialName = partialName
        self.bytesReceived = bytesReceived
        self.totalBytes = totalBytes
        self.validator = validator
        self.tailDigest = tailDigest
        self.state = state
        self.boot = boot
        self.safe = safe
    }

    init(decoding blob: Data) throws(Refusal) {
        guard blob.count <= Self.maximumSize else { throw Refusal(description: "it is too large") }
        guard let list = UntrustedPropertyList(blob, maximumContainers: Self.maximumContainers) else {
            throw Refusal(description: "it is not a property list of the kind that is written here")
        }
        // The version is read first, so that a format of the future is named as such.
        guard let version = list.decode(Version.self) else {
            throw Refusal(description: "it is not a property list with a version")
        }
        guard version.version == Self.currentVersion else {
            throw Refusal(description: "its version is \(version.version), and \(Self.currentVersion) is what is known")
        }
        guard let decoded = list.decode(ResumeData.self) else {
            throw Refusal(description: "an entry is missing or of the wrong type")
        }
        self = decoded
        try check()
    }

    private struct Version: Decodable {
        var version: Int
    }

    /// Whether data that did not come through ``init(decoding:)`` passes the checks, and is what a download leaves.
    var isSound: Bool {
        version == Self.currentVersion && PartialFile.isName(partialName) && (try? check()) != nil
    }

    private func check() throws(Refusal) {
        guard Self.isPlainName(partialName) else {
            throw Refusal(description: "the partial file's name is not a plain file name")
        }
        guard 0...Self.maximumLength ~= bytesReceived else {
            throw Refusal(description: "the count of bytes received is absurd")
        }
        if let totalBytes, totalBytes < bytesReceived || totalBytes > Self.maximumLength {
            throw Refusal(description: "the total is less than what was received, or absurd")
        }
        if let validator, !Self.isStrongValidator(validator) {
            throw Refusal(description: "the validator is neither a strong entity tag nor a date")
        }
        for digest in [tailDigest, safe?.tailDigest].compactMap(\.self) {
            guard digest.utf8.count == 64, digest.allSatisfy(\.isHexDigit) else {
                throw Refusal(description: "the digest is not 64 hexadecimal digits")
            }
        }
        if let safe, safe.count < 0 || safe.count > bytesReceived {
            throw Refusal(description: "the count of safe bytes is absurd")
        }
        guard originalRequest.method == "GET", currentRequest.method == "GET" else {
            throw Refusal(description: "the request is not a GET")
        }
        guard originalRequest.hasURL, currentRequest.hasURL else {
            throw Refusal(description: "the request has no URL")
        }
    }

    /// Whether the rest of what a request is for can be joined to the bytes.
    func isUsable(for request: URLRequest) -> Bool {
        originalRequest.url == request.url?.absoluteString && Resumability.allowsResuming(request)
    }

    private static func isPlainName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
            && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 < 0x20 }
    }

    private static func isStrongValidator(_ text: String) -> Bool {
        if let tag = EntityTag(text) { return !tag.isWeak }
        return HTTPDate(text) != nil
    }
}

/// All of a transfer's resume data but the bytes themselves: fixed when the response arrives.
struct ResumeTemplate: Sendable {
    let originalRequest: URLRequest
    let currentRequest: URLRequest
    /// `nil` when the transfer cannot be resumed; a finished file is recorded all the same.
    let validator: String?
    var total: Int64?
    /// The boot in which the bytes are written.
    var boot: String?

    /// The resume data for what `sink` holds now; `nil` when the transfer could not be resumed.
    func resumeData(for sink: any BodySink, _ state: ResumeData.WritingState) throws -> ResumeData? {
        let length = try sink.length
        guard length > 0, validator != nil || length == total else { return nil }
        return resumeData(
            for: sink, state, length: length, tailDigest: try sink.tailDigest(endingAt: length), safe: nil)
    }

    /// The record of `sink` that counts no byte; while a transfer writes, the bytes that follow it count as long as the
    /// machine runs.
    func emptyRecord(of sink: any BodySink, _ state: ResumeData.WritingState) -> ResumeData {
        resumeData(for: sink, state, length: 0, tailDigest: Data().sha256, safe: nil)
    }

    /// The record of `sink`, which holds what `found` describes, before more bytes follow.
    func record(of sink: any BodySink, continuing found: ResumeData) -> ResumeData {
        resumeData(
            for: sink, .writing, length: found.bytesReceived, tailDigest: found.tailDigest, safe: found.safe)
    }

    /// The resume data for the bytes that have reached the disk, without those that followed.
    func resumeData(for sink: any BodySink, safe: DigestedBytes) -> ResumeData? {
        guard safe.count > 0, validator != nil || safe.count == total else { return nil }
        return resumeData(for: sink, .stopped, length: safe.count, tailDigest: safe.tailDigest, safe: nil)
    }

    private func resumeData(
        for sink: any BodySink, _ state: ResumeData.WritingState, length: Int64, tailDigest: String,
        safe: DigestedBytes?
    ) -> ResumeData {
        ResumeData(
            originalRequest: StoredRequest(originalRequest), currentRequest: StoredRequest(currentRequest),
            partialName: (sink as? any FileSink)?.recordedName ?? "sink", bytesReceived: length,
            totalBytes: total.flatMap { $0 <= ResumeData.maximumLength ? $0 : nil }, validator: validator,
            tailDigest: tailDigest, state: state, boot: boot, safe: safe)
    }
}

extension BodySink {
    /// SHA-256 of the 64 KiB before `end`, hexadecimal.
    func tailDigest(endingAt end: Int64) throws -> String {
        try bytes(in: DigestedBytes.tail(endingAt: end)).sha256
    }
}

extension ResumeData {
    /// Where to continue; `nil` when there is no validator for the rest.
    var point: ResumePoint? {
        validator.map { ResumePoint(offset: bytesReceived, total: totalBytes, validator: $0) }
    }
}
