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
        return isType(type) ? "\(key(of: url)).\(type)" : key(of: url)
    }

    private static func isType(_ text: String) -> Bool {
        (1...10).contains(text.utf8.count) && text.utf8.allSatisfy(\.isLetterOrDigit)
            && !reservedTypes.contains(text.lowercased())
    }

    /// The path extensions of the files that are not finished ones.
    private static let reservedTypes: Set<String> = [
        partialType, recordType, itemType, deletionType, copyType, "new",
    ]
    private static let partialType = "part"
    private static let copyType = "copy"
    private static let recordType = "resume"
    static let itemType = "item"
    private static let deletionType = "deletion"

    /// Whether it is the name of an item that has not been renamed yet, which in a folder with other files is a long one.
    static func isUnfinishedItem(_ name: String) -> Bool {
        baseName(of: name, without: "\(itemType).new") != nil
    }

    /// The name without the type; `nil` for a name that is not one of a download's.
    private static func baseName(of name: String, without type: String) -> String? {
        guard name.hasSuffix(".\(type)") else { return nil }
        let base = name.dropLast(type.count + 1)
        let parts = base.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
        guard FileDigest.isHexadecimal(parts[0]), parts.count == 1 || isType(parts[1]) else { return nil }
        return String(base)
    }

    /// The finished file.
    func finished(_ url: URL) -> URL {
        finishedDirectory.appendingPathComponent(Self.fileName(of: url), isDirectory: false)
    }

    /// The copy of a file that comes from another file system, before it is renamed to ``finished(_:)``.
    func copy(_ url: URL) -> URL { finished(url).appendingPathExtension(Self.copyType) }

    /// The other files of a download.
    func unfinished(_ url: URL) -> UnfinishedFiles { unfinished(named: Self.fileName(of: url)) }

    /// The files of the download that a name in the folder says is being deleted; `nil` for other names.
    func unfinished(ofDeletion name: String) -> UnfinishedFiles? {
        Self.baseName(of: name, without: Self.deletionType).map(unfinished(named:))
    }

    private func unfinished(named name: String) -> UnfinishedFiles {
        func file(_ type: String) -> URL {
            unfinishedDirectory.appendingPathComponent("\(name).\(type)", isDirectory: false)
        }
        return UnfinishedFiles(
            partial: file(Self.partialType), record: file(Self.recordType), item: file(Self.itemType),
            deletion: file(Self.deletionType), files: files)
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

/// The files of a download that is not finished.
struct UnfinishedFiles: Sendable {
    /// The bytes received.
    let partial: URL
    /// The record of the partial file.
    let record: URL
    /// The download's entry in the list.
    let item: URL
    /// The entry of a download that is being deleted, until its bytes are. A loss of power may leave nothing but its name.
    let deletion: URL
    let files: any FileLayer

    /// The record on disk, if there are as many bytes as it vouches for.
    var soundRecord: ResumeRecord? {
        guard let size = files.fileSize(partial),
            let record = ResumeRecord(contentsOf: record, of: partial, through: files),
            record.bytesReceived <= size
        else { return nil }
        return record
    }

    /// Deletes the bytes, and then the mark that says so. Where another process is using them the mark stays, for the manager
    /// that comes next.
    func finishDeletion() {
        if DownloadSink.remove(self) { files.remove(deletion.path) }
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
