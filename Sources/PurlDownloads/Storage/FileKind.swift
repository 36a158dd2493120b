import Foundation

/// What lies at a path, links not followed.
enum FileKind: Equatable {
    case nothing
    /// A plain file of so many bytes.
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

    /// The size of a plain file.
    var fileSize: Int64? {
        if case .file(let size) = self { return size }
        return nil
    }
}
