import Foundation
import Purl
internal import PurlHTTP

/// What is kept of an unfinished download so that the list comes back: a property list beside the partial file.
///
/// It is untrusted when it comes back: ``init(decoding:fileName:)`` takes only what this code would have written
/// under that name. The check sum is there for accidents, so that no damaged URL is asked and no damaged digest
/// believed.
struct DownloadItem: Sendable, Equatable {
    /// What was wanted of the download last.
    enum Wish: String, Codable, Sendable {
        case wanted, paused, cancelled
    }

    /// The format written here. Others are ignored.
    static let currentVersion = 1
    /// Items beyond this size are not read.
    static let maximumSize = 64 << 10
    /// What is written here is one dictionary.
    private static let maximumContainers = 4
    /// Order numbers are milliseconds since 1970 or a little more.
    private static let maximumOrder: Int64 = 1 << 53

    var url: URL
    var currentURL: URL
    /// What the user expects, 64 hexadecimal digits.
    var sha256: String?
    /// What the server said in `Repr-Digest` of the version that is being downloaded.
    var serverSHA256: String?
    /// The length of the version that is being downloaded. A record that says otherwise is damaged.
    var totalBytes: Int64?
    var wish: Wish
    /// The place in the list.
    var order: Int64

    /// The property list.
    private struct Stored: Codable {
        var version: Int
        var url: String
        var currentURL: String
        var sha256: String?
        var serverSHA256: String?
        var totalBytes: Int64?
        var state: String
        var order: Int64
        var checksum: String
    }

    private struct Version: Decodable {
        var version: Int
    }

    init(url: URL, currentURL: URL, sha256: String?, wish: Wish, order: Int64) {
        self.url = url
        self.currentURL = currentURL
        self.sha256 = sha256
        self.wish = wish
        self.order = order
    }

    func encoded() throws -> Data {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return try encoder.encode(
            Stored(
                version: Self.currentVersion, url: url.absoluteString, currentURL: currentURL.absoluteString,
                sha256: sha256, serverSHA256: serverSHA256, totalBytes: totalBytes, state: wish.rawValue,
                order: order, checksum: checksum))
    }

    /// `nil` comes of everything that is damaged, of another version, or not the item of a file with this name.
    init?(decoding data: Data, fileName: String) {
        guard data.count <= Self.maximumSize,
            let list = UntrustedPropertyList(data, maximumContainers: Self.maximumContainers),
            list.decode(Version.self)?.version == Self.currentVersion,
            let stored = list.decode(Stored.self), let url = URL(string: stored.url),
            let currentURL = URL(string: stored.currentURL), let wish = Wish(rawValue: stored.state),
            (0...Self.maximumOrder).contains(stored.order)
        else { return nil }
        self.init(url: url, currentURL: currentURL, sha256: stored.sha256, wish: wish, order: stored.order)
        serverSHA256 = stored.serverSHA256
        totalBytes = stored.totalBytes
        guard stored.checksum == checksum, url.absoluteString == stored.url,
            currentURL.absoluteString == stored.currentURL,
            DownloadPlaces.fileName(of: url) + "." + DownloadPlaces.itemType == fileName,
            [sha256, serverSHA256].allSatisfy({ $0.map(FileDigest.isHexadecimal) ?? true }),
            totalBytes.map({ (0...Int64.max / 2).contains($0) }) ?? true
        else { return nil }
    }

    /// SHA-256 of all entries, each behind its length so that none runs into the next.
    private var checksum: String {
        let entries = [
            String(Self.currentVersion), url.absoluteString, currentURL.absoluteString, sha256, serverSHA256,
            totalBytes.map { String($0) }, wish.rawValue, String(order),
        ]
        var digest = SHA256()
        for entry in entries {
            let text = entry.map { "\($0.utf8.count):\($0)" } ?? "-"
            digest.update(Array(text.utf8).span.bytes)
        }
        return SHA256.hexadecimal(digest.finalize())
    }
}
