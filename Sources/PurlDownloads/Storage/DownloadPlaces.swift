import Foundation
internal import PurlHTTP

/// Which files belong to a URL: the only code that makes paths.
struct DownloadPlaces: Sendable {
    let finishedDirectory: URL
    let unfinishedDirectory: URL

    /// SHA-256 of the URL, hexadecimal: what names a download.
    static func key(of url: URL) -> String {
        SHA256.hexadecimal(of: Array(url.absoluteString.utf8).span.bytes)
    }

    /// The key and, so that other programs know the type, the URL's path extension if it is a plain one.
    static func fileName(of url: URL) -> String {
        let type = url.pathExtension
        guard (1...10).contains(type.utf8.count), type.utf8.allSatisfy(\.isLetterOrDigit),
            !reservedTypes.contains(type.lowercased())
        else { return key(of: url) }
        return "\(key(of: url)).\(type)"
    }

    /// What the files beside an unfinished one are called.
    private static let reservedTypes: Set<String> = [recordType, itemType, "new", "copy"]
    private static let recordType = "resume"
    static let itemType = "item"

    /// Where the finished file of `url` belongs.
    func finished(_ url: URL) -> URL {
        finishedDirectory.appendingPathComponent(Self.fileName(of: url), isDirectory: false)
    }

    /// The finished file on its way from another file system.
    func copy(_ url: URL) -> URL { finished(url).appendingPathExtension("copy") }

    func partial(_ url: URL) -> URL {
        unfinishedDirectory.appendingPathComponent(Self.fileName(of: url), isDirectory: false)
    }

    func record(_ url: URL) -> URL { partial(url).appendingPathExtension(Self.recordType) }

    func item(_ url: URL) -> URL { partial(url).appendingPathExtension(Self.itemType) }

    /// Makes both folders, for their owner only.
    func prepare() throws(DownloadFailure) {
        for folder in [finishedDirectory, unfinishedDirectory] {
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw DownloadFailure(.cannotCreateFile, "The folder \(folder.path) could not be made.", error)
            }
        }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}
