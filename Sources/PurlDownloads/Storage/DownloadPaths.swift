import Foundation
import Purl
internal import PurlHTTP

/// The files that belong to a URL. No other code makes paths.
struct DownloadPaths: Sendable {
    let finishedDirectory: URL
    let unfinishedDirectory: URL

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
    private static let reservedTypes: Set<String> = [partialType, recordType, itemType, copyType, "new"]
    private static let partialType = "part"
    private static let copyType = "copy"
    private static let recordType = "resume"
    static let itemType = "item"

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

    private func unfinished(_ url: URL, _ type: String) -> URL {
        unfinishedDirectory.appendingPathComponent("\(Self.fileName(of: url)).\(type)", isDirectory: false)
    }

    /// The record on disk, if there are as many bytes as it vouches for.
    func soundRecord(_ url: URL) -> ResumeRecord? {
        guard let size = FileKind(at: partial(url)).fileSize,
            let record = ResumeRecord(contentsOf: record(url), of: partial(url)), record.bytesReceived <= size
        else { return nil }
        return record
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

/// The kind of file at a path; links are not followed.
enum FileKind: Equatable {
    case nothing
    /// A regular file, and its length in bytes.
    case file(size: Int64)
    case link
    case other

    init(at url: URL) {
        var status = stat()
        guard lstat(url.path, &status) == 0 else {
            self = .nothing
            return
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: self = .file(size: Int64(status.st_size))
        case S_IFLNK: self = .link
        default: self = .other
        }
    }

    /// The length of a regular file.
    var fileSize: Int64? {
        if case .file(let size) = self { return size }
        return nil
    }
}
