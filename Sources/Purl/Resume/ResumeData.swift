import Foundation
internal import PurlHTTP

/// What it takes to resume a transfer: a property list, so that a person can read it.
///
/// It may come from anywhere, so it is untrusted: ``init(decoding:)`` refuses what this code would not have written, above
/// all names that could lead out of the partials folder.
struct ResumeData: Codable, Sendable, Equatable {
    /// The format written here. Others are refused.
    static let currentVersion = 1
    /// How many of the last bytes are digested.
    static let tailLength: Int64 = 65_536
    /// Blobs beyond this size are not read.
    static let maximumSize = 1 << 20
    /// What is written here nests five containers.
    private static let maximumContainers = 16

    var version = ResumeData.currentVersion
    var originalRequest: StoredRequest
    var currentRequest: StoredRequest
    /// The partial file's name inside its folder.
    var partialName: String
    /// The bytes known to be on disk.
    var bytesReceived: Int64
    /// The length of the whole resource, if the server has sent it.
    var totalBytes: Int64?
    /// What `If-Range` carries: a strong entity tag or a strong date. Absent when only a finished file is recorded.
    var validator: String?
    /// SHA-256 of the last 64 KiB of the bytes received, hexadecimal.
    var tailDigest: String

    /// Why a blob is refused.
    struct Refusal: Error, Equatable, CustomStringConvertible {
        let description: String

        /// A download continues only a file that a download has created: the folder may hold other things.
        static let strangeName = Refusal(description: "the partial file's name is not one that a download gives")
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
        totalBytes: Int64?, validator: String?, tailDigest: String
    ) {
        self.originalRequest = originalRequest
        self.currentRequest = currentRequest
        self.partialName = partialName
        self.bytesReceived = bytesReceived
        self.totalBytes = totalBytes
        self.validator = validator
        self.tailDigest = tailDigest
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
        guard bytesReceived >= 0, bytesReceived <= Int64.max / 2 else {
            throw Refusal(description: "the count of bytes received is absurd")
        }
        if let totalBytes, totalBytes < bytesReceived || totalBytes > Int64.max / 2 {
            throw Refusal(description: "the total is less than what was received, or absurd")
        }
        if let validator, !Self.isStrongValidator(validator) {
            throw Refusal(description: "the validator is neither a strong entity tag nor a date")
        }
        guard tailDigest.utf8.count == 64, tailDigest.allSatisfy(\.isHexDigit) else {
            throw Refusal(description: "the digest is not 64 hexadecimal digits")
        }
        guard originalRequest.method == "GET", currentRequest.method == "GET" else {
            throw Refusal(description: "the request is not a GET")
        }
        guard originalRequest.hasURL, currentRequest.hasURL else {
            throw Refusal(description: "the request has no URL")
        }
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

/// A request as resume data keeps it.
struct StoredRequest: Codable, Sendable, Equatable {
    var url: String
    var method: String
    var headers: [String: String]
    var timeoutInterval: Double
    /// Resume data never needs one, since only a GET without a body can be resumed; a background task that starts over
    /// does.
    var body: Data?
    // Absent when they are what a new request has.
    var cachePolicy: UInt?
    var networkServiceType: UInt?
    var forbidsCellularAccess: Bool?
    var handlesNoCookies: Bool?
    var usesPipelining: Bool?
    var mainDocumentURL: String?

    init(_ request: URLRequest) {
        url = request.url?.absoluteString ?? ""
        method = request.httpMethod ?? "GET"
        headers = request.allHTTPHeaderFields ?? [:]
        timeoutInterval = request.timeoutInterval
        body = request.httpBody
        if request.cachePolicy != .useProtocolCachePolicy { cachePolicy = request.cachePolicy.rawValue }
        if request.networkServiceType != .default {
            networkServiceType = request.networkServiceType.rawValue
        }
        if !request.allowsCellularAccess { forbidsCellularAccess = true }
        if !request.httpShouldHandleCookies { handlesNoCookies = true }
        if request.httpShouldUsePipelining { usesPipelining = true }
        mainDocumentURL = request.mainDocumentURL?.absoluteString
    }

    var hasURL: Bool { URL(string: url) != nil }

    /// The request again; `nil` when the URL is not one.
    var request: URLRequest? {
        guard let url = URL(string: url) else { return nil }
        var request = URLRequest(
            url: url, cachePolicy: cachePolicy.flatMap(URLRequest.CachePolicy.init) ?? .useProtocolCachePolicy,
            timeoutInterval: timeoutInterval)
        request.httpMethod = method
        request.allHTTPHeaderFields = headers
        request.httpBody = body
        request.networkServiceType =
            networkServiceType.flatMap(URLRequest.NetworkServiceType.init) ?? .default
        request.allowsCellularAccess = forbidsCellularAccess != true
        request.httpShouldHandleCookies = handlesNoCookies != true
        request.httpShouldUsePipelining = usesPipelining == true
        request.mainDocumentURL = mainDocumentURL.flatMap { URL(string: $0) }
        return request
    }
}

/// All of a transfer's resume data but the bytes themselves: fixed when the response arrives.
struct ResumeTemplate: Sendable {
    let originalRequest: URLRequest
    let currentRequest: URLRequest
    /// `nil` when the transfer cannot be resumed; a finished file is recorded all the same.
    let validator: String?
    var total: Int64?

    /// The resume data for what `sink` holds now; `nil` when the transfer could not be resumed.
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
    /// Whether `sink` still holds the bytes that this data describes. If so, what lies beyond them is cut off: it was
    /// written after the data was created, so no digest covers it.
    func matches(_ sink: any BodySink) throws -> Bool {
        let length = try sink.length
        guard bytesReceived > 0, length >= bytesReceived,
            try ResumeTemplate.tailDigest(of: sink, endingAt: bytesReceived) == tailDigest.lowercased()
        else { return false }
        if length > bytesReceived { try sink.truncate(to: bytesReceived) }
        return true
    }

    /// Where to continue; `nil` when there is no validator for the rest.
    var point: ResumePoint? {
        validator.map { ResumePoint(offset: bytesReceived, total: totalBytes, validator: $0) }
    }
}
