import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What it takes to resume an upload: a property list, so that a person can read it.
///
/// It may come from anywhere, so it is untrusted: ``init(decoding:)`` refuses what this code would not have written. What it
/// names as a file is sent only if the file's length, modification time and last bytes are those that were sent.
struct UploadResumeData: Codable, Sendable, Equatable {
    /// Where the content comes from.
    enum Content: Codable, Sendable, Equatable {
        case file(path: String, SentFile)
        case data(Data)
        /// The delegate gives it.
        case stream
    }

    /// The format written here. Others are refused.
    static let currentVersion = 1
    /// Blobs beyond this size are not read; that of an upload from data has the data in it.
    static let maximumSize = 1 << 30
    /// The resume data that is written here has nine dictionaries and arrays.
    private static let maximumContainers = 24

    /// Also what tells an upload's resume data from a download's.
    var uploadVersion = UploadResumeData.currentVersion
    var originalRequest: StoredRequest
    /// The request that created the upload: after a redirect, not the original one.
    var creatingRequest: StoredRequest
    /// The URL of the upload resource.
    var resource: String
    /// The version of the protocol that the server has named.
    var interopVersion: Int
    /// How many bytes the server is known to have.
    var offset: Int64
    /// How many bytes of the content have been sent; absent where that is not known, since the upload was under way.
    var sent: Int64?
    /// The length of the content, where it is known.
    var length: Int64?
    var content: Content

    /// The path of the file that is sent; `nil` where the content comes from elsewhere.
    var path: String? {
        if case .file(let path, _) = content { return path }
        return nil
    }

    func encoded() throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return try encoder.encode(self)
    }

    /// The same with a digest of the bytes of the file that were sent last. Blocks.
    func digested(upTo sent: Int64) -> UploadResumeData {
        guard case .file(let path, let file) = content else { return self }
        var digested = self
        digested.content = .file(path: path, file.digested(upTo: sent, at: path))
        return digested
    }

    /// The same for an upload that is under way: how much it will have sent when it ends is not known.
    var underWay: UploadResumeData {
        var underWay = self
        underWay.sent = nil
        return underWay
    }

    // MARK: Reading

    private struct Version: Decodable {
        var uploadVersion: Int
    }

    init(
        originalRequest: StoredRequest, creatingRequest: StoredRequest, resource: String, interopVersion: UploadVersion,
        offset: Int64, sent: Int64?, length: Int64?, content: Content
    ) {
        self.originalRequest = originalRequest
        self.creatingRequest = creatingRequest
        self.resource = resource
        self.interopVersion = interopVersion.rawValue
        self.offset = offset
        self.sent = sent
        self.length = length
        self.content = content
    }

    init(decoding blob: Data) throws(ResumeData.Refusal) {
        guard blob.count <= Self.maximumSize else { throw ResumeData.Refusal(description: "it is too large") }
        guard let list = UntrustedPropertyList(blob, maximumContainers: Self.maximumContainers) else {
            throw ResumeData.Refusal(description: "it is not a property list of the kind that is written here")
        }
        guard let version = list.decode(Version.self) else {
            throw ResumeData.Refusal(description: "it is not that of an upload")
        }
        guard version.uploadVersion == Self.currentVersion else {
            throw ResumeData.Refusal(
                description: "its version is \(version.uploadVersion), and \(Self.currentVersion) is what is known")
        }
        guard let decoded = list.decode(UploadResumeData.self) else {
            throw ResumeData.Refusal(description: "an entry is missing or of the wrong type")
        }
        self = decoded
        try check()
    }

    /// Whether data that did not come through ``init(decoding:)`` passes the checks.
    var isSound: Bool { uploadVersion == Self.currentVersion && (try? check()) != nil }

    private func check() throws(ResumeData.Refusal) {
        guard originalRequest.hasURL, let creatingURL = URL(string: creatingRequest.url) else {
            throw ResumeData.Refusal(description: "the request has no URL")
        }
        guard Redirect.uploadResource(resource, from: creatingURL)?.absoluteString == resource else {
            throw ResumeData.Refusal(description: "the upload resource's URL cannot be loaded")
        }
        guard UploadVersion(rawValue: interopVersion) != nil else {
            throw ResumeData.Refusal(description: "the version of the protocol is not known")
        }
        guard offset >= 0, offset <= length ?? .max / 2, length ?? 0 <= .max / 2 else {
            throw ResumeData.Refusal(description: "the offset or the length is absurd")
        }
        if let sent, !(offset...(length ?? .max / 2) ~= sent) {
            throw ResumeData.Refusal(description: "the count of bytes sent is absurd")
        }
        switch content {
        case .stream: break
        case .data(let data):
            guard length == Int64(data.count) else {
                throw ResumeData.Refusal(description: "the data has another length")
            }
        case .file(let path, let file):
            guard path.hasPrefix("/"), !path.utf8.contains(0) else {
                throw ResumeData.Refusal(description: "the file's path is not absolute")
            }
            guard file.isSound, file.length == length else {
                throw ResumeData.Refusal(description: "the description of the file is not sound")
            }
        }
    }
}
