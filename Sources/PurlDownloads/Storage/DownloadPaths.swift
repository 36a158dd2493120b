import Foundation
import Purl
internal import PurlHTTP
internal import PurlIO

/// The files that belong to a URL. No other code makes paths.
struct DownloadPaths: Sendable {
    let finishedDirectory: URL
    let unfinishedDirectory: URL
    var files: any FileLayer = SystemFiles()

    /// SHA-256 of the URL, hexadecimal: the base name of its files.
    static func key(of url: URL) -> String {
        SHA256.hexadecimal(of: Array(url.absoluteString.utf8).span.bytes)
    }

    /// The key and, so that other programs recognise the type, the URL's path extension if that is plain ASCII: the name of
    /// the finished file. The names of all other files are this one and a reserved type, which no finished file has: so
    /// both can lie in one folder.
    static func fileName(of url: URL) -> String {
        let type = url.pathExtension
        guard (1...10).contains(type.utf8.count), type.utf8.allSatisfy(\.isLetterOrDigit),
            !reservedTypes.contains(type.lowercased())
        else { return key(of: url) }
        return "\(key(of: url)).\(type)"
    }

    /// The path extensions of the files that are not finished ones.
    private static let reservedTypes: Set<String> = [
        partialType, recordType, itemType, deletionType, copyType, "new",
    ]
    private static let partialType = "part"
    private static let copyType = "copy"
    private static let recordType = "resume"
    static let itemType = "item"
    static let deletionType = "deletion"

    /// Whether it is the name of an item that has not been renamed yet, which in a folder with other files is a long one.
    static func isUnfinishedItem(_ name: String) -> Bool {
        name.hasSuffix(".\(itemType).new") && FileDigest.isHexadecimal(String(name.prefix(64)))
    }

    /// The finished file.
    func finished(_ url: URL) -> URL {
        finishedDirectory.appendingPathComponent(Self.fileName(of: url), isDirectory: false)
    }

    /// The copy of a file that comes from another file system, before it is renamed to ``finished(_:)``.
    func copy(_ url: URL) -> URL { finished(url).appendingPathExtension(Self.copyType) }

    /// The bytes received.
    func partial(_ url: URL) -> URL { unfinished(url, Self.partialType) }

    /// The record of the partial file.
    func record(_ url: URL) -> URL { unfinished(url, Self.recordType) }

    /// The download's entry in the list.
    func item(_ url: URL) -> URL { unfinished(url, Self.itemType) }

    /// The entry of a download that is being deleted, until its bytes are.
    func deletion(_ url: URL) -> URL { unfinished(url, Self.deletionType) }

    private func unfinished(_ url: URL, _ type: String) -> URL {
        unfinishedDirectory.appendingPathComponent("\(Self.fileName(of: url)).\(type)", isDirectory: false)
    }

    /// The record on disk, if there are as many bytes as it vouches for.
    func soundRecord(_ url: URL) -> ResumeRecord? {
        guard let size = files.fileSize(partial(url)),
            let record = ResumeRecord(contentsOf: record(url), of: partial(url), through: files),
            record.bytesReceived <= size
        else { return nil }
        return record
    }

    /// Deletes the bytes of a download, and then the mark that says so. Where another process is using them the mark stays, for
    /// the manager that comes next.
    func finishDeletion(of url: URL) {
        if DownloadSink.remove(self, of: url) { files.remove(deletion(url).path) }
    }

    /// Creates both folders, accessible to their owner only.
    func prepare() throws(DownloadFailure) {
        for folder in [finishedDirectory, unfinishedDirectory] {
            do {
                try FileManager.default.createDirectory(
                    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            } catch {
                throw DownloadFailure(.cannotCreateFile, "The folder \(folder.path) could not be created.", error)
            }
        }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}

extension FileLayer {
    /// The length of the regular file at `url`, if there is one; links are not followed.
    func fileSize(_ url: URL) -> Int64? { entry(url.path).regularFile?.length }
}
