import Foundation
internal import PurlHTTP

/// The files that belong to a URL. No other code makes paths.
struct DownloadPaths: Sendable {
    let finishedDirectory: URL
    let unfinishedDirectory: URL

    /// SHA-256 of the URL, hexadecimal: the base name of its files.
    static func key(of url: URL) -> String {
        SHA256.hexadecimal(of: Array(url.absoluteString.utf8).span.bytes)
    }

    /// The key and, so that other programs recognise the type, the URL's path extension if that is plain ASCII.
    static func fileName(of url: URL) -> String {
        let type = url.pathExtension
        guard (1...10).contains(type.utf8.count), type.utf8.allSatisfy(\.isLetterOrDigit),
            !reservedTypes.contains(type.lowercased())
        else { return key(of: url) }
        return "\(key(of: url)).\(type)"
    }

    /// The path extensions of the files beside an unfinished one.
    private static let reservedTypes: Set<String> = [recordType, itemType, "new", "copy"]
    private static let recordType = "resume"
    static let itemType = "item"

    /// The finished file.
    func finished(_ url: URL) -> URL {
        finishedDirectory.appendingPathComponent(Self.fileName(of: url), isDirectory: false)
    }

    /// The copy of a file that comes from another file system, before it is renamed to ``finished(_:)``.
    func copy(_ url: URL) -> URL { finished(url).appendingPathExtension("copy") }

    func partial(_ url: URL) -> URL {
        unfinishedDirectory.appendingPathComponent(Self.fileName(of: url), isDirectory: false)
    }

    func record(_ url: URL) -> URL { partial(url).appendingPathExtension(Self.recordType) }

    func item(_ url: URL) -> URL { partial(url).appendingPathExtension(Self.itemType) }

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
