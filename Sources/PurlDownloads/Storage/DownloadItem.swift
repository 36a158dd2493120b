import Foundation
import Purl
internal import PurlHTTP

/// An unfinished download's entry in the list on disk: a property list beside the partial file.
///
/// It is untrusted input: ``init(decoding:fileName:)`` accepts only what this code would have written under that name. The
/// checksum detects accidental damage, so that no request goes to a damaged URL and no damaged digest is compared.
struct DownloadItem: Sendable, Equatable {
    /// What the user's last control asked for.
    enum Intent: String, Codable, Sendable {
        case wanted, paused, cancelled
    }

    /// The format version. Others are ignored.
    static let currentVersion = 1
    /// Items beyond this size are not read.
    static let maximumSize = 64 << 10
    /// More digests are not remembered; the first ones are dropped.
    static let maximumDigests = 32
    /// More mirrors, and those whose URLs are longer together, are not used: the item has to remain one that is read.
    static let maximumMirrors = 32
    static let maximumMirrorText = 16 << 10
    /// An item is one dictionary with two arrays; this bounds what the parser accepts.
    private static let maximumContainers = 4
    /// Greater lengths, which a server may send, are not kept: no file has them.
    private static let maximumLength = Int64.max / 2
    /// Order numbers are milliseconds since 1970, or slightly larger.
    private static let maximumOrder: Int64 = 1 << 53

    var url: URL
    var currentURL: URL
    /// The digests that callers expect, each 64 hexadecimal digits: the file has to have one of them.
    var sha256: [String]
    /// Other servers of the same file.
    var mirrors: [URL]
    /// The server's `Repr-Digest` of the version that is being downloaded.
    var serverSHA256: String?
    /// The length of the version that is being downloaded. A record with another length is damaged.
    var totalBytes: Int64? {
        didSet { if let total = totalBytes, total > Self.maximumLength { totalBytes = nil } }
    }
    var intent: Intent
    /// The place in the list.
    var order: Int64

    /// The property list.
    private struct Stored: Codable {
        var version: Int
        var url: String
        var currentURL: String
        var sha256: [String]
        /// Not there without one.
        var mirrors: [String]?
        var serverSHA256: String?
        var totalBytes: Int64?
        var state: String
        var order: Int64
        var checksum: String
    }

    private struct Version: Decodable {
        var version: Int
    }

    init(url: URL, currentURL: URL, sha256: [String], mirrors: [URL] = [], intent: Intent, order: Int64) {
        self.url = url
        self.currentURL = currentURL
        self.sha256 = sha256
        self.mirrors = mirrors
        self.intent = intent
        self.order = order
    }

    func encoded() throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return try encoder.encode(
            Stored(
                version: Self.currentVersion, url: url.absoluteString, currentURL: currentURL.absoluteString,
                sha256: storedDigests, mirrors: mirrors.isEmpty ? nil : mirrors.map(\.absoluteString),
                serverSHA256: serverSHA256, totalBytes: totalBytes, state: intent.rawValue,
                order: order, checksum: checksum))
    }

    /// `nil` for data that is damaged, of another version, or not the item of a file with this name.
    init?(decoding data: Data, fileName: String) {
        guard data.count <= Self.maximumSize,
            let list = UntrustedPropertyList(data, maximumContainers: Self.maximumContainers),
            list.decode(Version.self)?.version == Self.currentVersion,
            let stored = list.decode(Stored.self), let url = URL(string: stored.url),
            let currentURL = URL(string: stored.currentURL), let intent = Intent(rawValue: stored.state),
            (0...Self.maximumOrder).contains(stored.order)
        else { return nil }
        let texts = stored.mirrors ?? []
        let mirrors = texts.compactMap { URL(string: $0) }
        self.init(
            url: url, currentURL: currentURL, sha256: stored.sha256, mirrors: mirrors, intent: intent,
            order: stored.order)
        serverSHA256 = stored.serverSHA256
        totalBytes = stored.totalBytes
        guard stored.checksum == checksum, url.absoluteString == stored.url,
            currentURL.absoluteString == stored.currentURL,
            DownloadPaths.fileName(of: url) + "." + DownloadPaths.itemType == fileName,
            sha256.count <= Self.maximumDigests, mirrors.map(\.absoluteString) == texts,
            mirrors.count <= Self.maximumMirrors,
            (sha256 + [serverSHA256].compactMap(\.self)).allSatisfy(FileDigest.isHexadecimal),
            stored.totalBytes.map({ (0...Self.maximumLength).contains($0) }) ?? true
        else { return nil }
    }

    /// Adds servers of the same file, those that are not known, and as many as are kept.
    mutating func add(_ mirrors: [URL]) {
        for mirror in mirrors where mirror != url && !self.mirrors.contains(mirror) {
            let length = (self.mirrors + [mirror]).reduce(0) { $0 + $1.absoluteString.utf8.count }
            guard self.mirrors.count < Self.maximumMirrors, length <= Self.maximumMirrorText else { continue }
            self.mirrors.append(mirror)
        }
    }

    /// Where the file is, in the order in which the servers are asked. Mirrors count where a digest tells whether the whole is
    /// right.
    var sources: [URL] { sha256.isEmpty || mirrors.isEmpty ? [currentURL] : [url] + mirrors }

    /// How many servers there are besides the current one.
    var otherSources: Int { nextSources.count }

    /// Where it is asked for when the current server has failed, in this order.
    var nextSources: [URL] {
        let sources = sources
        guard let place = sources.firstIndex(of: currentURL) else { return sources }
        return Array(sources[(place + 1)...] + sources[..<place])
    }

    private var storedDigests: [String] { sha256.suffix(Self.maximumDigests) }

    /// SHA-256 of all entries, each preceded by its length so that the boundaries are part of it.
    private var checksum: String {
        let fixed: [String?] = [
            String(Self.currentVersion), url.absoluteString, currentURL.absoluteString,
            storedDigests.joined(separator: " "), serverSHA256,
            totalBytes.map { String($0) }, intent.rawValue, String(order),
        ]
        // As it was before there were any.
        let entries = fixed + mirrors.map(\.absoluteString)
        var digest = SHA256()
        for entry in entries {
            let text = entry.map { "\($0.utf8.count):\($0)" } ?? "-"
            digest.update(Array(text.utf8).span.bytes)
        }
        return SHA256.hexadecimal(digest.finalize())
    }
}
