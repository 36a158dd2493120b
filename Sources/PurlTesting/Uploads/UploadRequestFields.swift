internal import PurlHTTP

/// What a request says about an upload.
struct UploadRequestFields {
    /// The draft version.
    let version: Int?
    /// Whether the request's content ends the upload; `nil` when it does not say so.
    let isComplete: Bool?
    /// Where its content begins.
    let offset: Int?
    /// How many bytes of content it has, if its head says so.
    let contentLength: Int?
    /// The whole upload's length, if it says so.
    private let uploadLength: Int?

    init(_ head: RequestHead, _ framing: BodyFraming) {
        version = head.fields.integer("Upload-Draft-Interop-Version")
        offset = head.fields.integer("Upload-Offset")
        uploadLength = head.fields.integer("Upload-Length")
        switch head.fields["Upload-Complete"] {
        case "?1": isComplete = true
        case "?0": isComplete = false
        default: isComplete = nil
        }
        switch framing {
        case .none: contentLength = 0
        case .length(let length): contentLength = Int(clamping: length)
        case .chunked, .untilClose: contentLength = nil
        }
    }

    /// The whole upload's length when this request begins at an offset.
    func length(at offset: Int) -> Int? { uploadLength ?? lengthByContent(at: offset) }

    /// Whether what the request says about the length agrees, also with what earlier requests have said.
    func areConsistent(at offset: Int, knownLength: Int?) -> Bool {
        let lengths = [uploadLength, lengthByContent(at: offset), knownLength].compactMap(\.self)
        let end = offset.addingReportingOverflow(contentLength ?? 0)
        guard !end.overflow else { return false }
        return Set(lengths).count <= 1 && lengths.allSatisfy { end.partialValue <= $0 }
    }

    private func lengthByContent(at offset: Int) -> Int? {
        guard isComplete != false, let contentLength else { return nil }
        let (sum, overflow) = offset.addingReportingOverflow(contentLength)
        return overflow ? nil : sum
    }
}

extension HeaderFields {
    /// The value of a field that holds a non-negative integer (RFC 9651 §3.3.1).
    fileprivate func integer(_ name: FieldName) -> Int? {
        guard let text = self[name], (1...15).contains(text.utf8.count) else { return nil }
        return text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}

extension UploadTarget.Limits {
    /// The value of `Upload-Limit`; `nil` without limits.
    func value(version: Int?) -> String? {
        // Version 7 gave the age another name.
        let age = version.map { $0 <= 6 } == true ? "expires" : "max-age"
        let members = [
            ("max-size", maximumSize), ("min-size", minimumSize), ("max-append-size", maximumAppendSize),
            ("min-append-size", minimumAppendSize), (age, maximumAge),
        ]
        let text = members.compactMap { name, value in value.map { "\(name)=\($0)" } }.joined(separator: ", ")
        return text.isEmpty ? nil : text
    }
}

extension Reply {
    /// The request contradicts itself or an earlier one about the upload's length.
    static var inconsistentLength: Reply {
        problem(400, "inconsistent-upload-length", "The request says another length of the upload.")
    }

    /// A response with a problem type (RFC 9457).
    static func problem(_ status: Int, _ type: String, _ title: String) -> Reply {
        text("{\"type\":\"https://iana.org/assignments/http-problem-types#\(type)\",\"title\":\"\(title)\"}\n")
            .contentType("application/problem+json").status(status)
    }

    /// With the `Upload-Limit`, if there are limits.
    func limits(_ limits: UploadTarget.Limits, version: Int?) -> Reply {
        limits.value(version: version).map { field("Upload-Limit", $0) } ?? self
    }

    /// With the state of a complete upload.
    func uploadState(_ upload: ReceivedUpload) -> Reply {
        let reply = field("Upload-Complete", "?1")
        // Up to version 6, every response states the offset.
        guard let version = upload.version, version <= 6 else { return reply }
        return reply.field("Upload-Offset", "\(upload.offset)")
    }
}
