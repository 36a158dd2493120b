import Foundation

/// All of a transfer's resume data but the bytes themselves: fixed when the response arrives.
struct ResumeTemplate: Sendable {
    let originalRequest: URLRequest
    let currentRequest: URLRequest
    /// `nil` when the transfer cannot be resumed; a finished file is recorded all the same.
    let validator: String?
    var total: Int64?

    /// The resume data for what `sink` holds now; `nil` when it could not be gone on with.
    func resumeData(for sink: any BodySink) throws -> ResumeData? {
        let length = try sink.length
        guard length > 0, validator != nil || length == total else { return nil }
        return ResumeData(
            originalRequest: StoredRequest(originalRequest),
            currentRequest: StoredRequest(currentRequest),
            partialName: Self.name(of: sink),
            bytesReceived: length,
            totalBytes: total,
            validator: validator,
            tailDigest: try Self.tailDigest(of: sink, endingAt: length)
        )
    }

    /// A sink on a file may have been moved since the transfer began; one that is no file has no name of its own.
    private static func name(of sink: any BodySink) -> String {
        switch sink {
        case let partial as PartialFile: partial.name
        case let file as FileHandleSink: file.fileURL?.lastPathComponent ?? "handle"
        default: "sink"
        }
    }

    /// SHA-256 of the 64 KiB before `end`, hexadecimal.
    static func tailDigest(of sink: any BodySink, endingAt end: Int64) throws -> String {
        try sink.bytes(in: max(0, end - ResumeData.tailLength)..<end).sha256
    }
}

extension ResumeData {
    /// Whether `sink` still holds the bytes this data speaks of. If so, what lies beyond them is cut off: it was
    /// written after the data was made, so nothing vouches for it.
    func matches(_ sink: any BodySink) throws -> Bool {
        let length = try sink.length
        guard bytesReceived > 0, length >= bytesReceived,
            try ResumeTemplate.tailDigest(of: sink, endingAt: bytesReceived) == tailDigest.lowercased()
        else { return false }
        if length > bytesReceived { try sink.truncate(to: bytesReceived) }
        return true
    }

    /// Where to go on; `nil` when nothing vouches for the rest.
    var point: ResumePoint? {
        validator.map { ResumePoint(offset: bytesReceived, total: totalBytes, validator: $0) }
    }
}
