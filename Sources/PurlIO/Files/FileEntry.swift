/// What is at a path.
package enum FileEntry: Sendable, Equatable {
    case missing
    case regular(FileStatus)
    case folder
    case link
    case device
    case pipe
    case socket

    /// - Parameter followsLinks: Follows symbolic links; then one that leads nowhere is missing.
    package init(atPath path: String, followingLinks followsLinks: Bool = false) {
        var found = stat()
        let result = followsLinks ? stat(path, &found) : lstat(path, &found)
        self = result == 0 ? Self(found) : .missing
    }

    /// The regular file that is there, if it is one.
    package var regularFile: FileStatus? {
        if case .regular(let file) = self { return file }
        return nil
    }

    private init(_ status: stat) {
        self =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular(FileStatus(status))
            case S_IFDIR: .folder
            case S_IFLNK: .link
            case S_IFIFO: .pipe
            case S_IFSOCK: .socket
            // Character and block devices: the system has no other kinds.
            default: .device
            }
    }
}

/// What is known of a regular file at one moment.
package struct FileStatus: Sendable, Equatable {
    /// The numbers that name a file in its file system.
    package struct Identity: Sendable, Equatable, Codable {
        let device: UInt64
        package let number: UInt64

        package init(device: UInt64, number: UInt64) {
            self.device = device
            self.number = number
        }
    }

    /// A moment, since 1970.
    package struct Time: Sendable, Equatable, Codable {
        package let seconds: Int64
        package let nanoseconds: Int64

        package init(seconds: Int64, nanoseconds: Int64) {
            self.seconds = seconds
            self.nanoseconds = nanoseconds
        }
    }

    package let identity: Identity
    /// In bytes.
    package let length: Int64
    /// When it was last written to.
    package let modified: Time
    /// Whether there are hard links to it.
    package let hasOtherNames: Bool
    /// Whether it has been removed, and is only open.
    package let lacksName: Bool
    /// Whether it belongs to the user that this process acts for.
    package let isOwn: Bool

    package init(
        identity: Identity, length: Int64, modified: Time, hasOtherNames: Bool = false, lacksName: Bool = false,
        isOwn: Bool = true
    ) {
        self.identity = identity
        self.length = length
        self.modified = modified
        self.hasOtherNames = hasOtherNames
        self.lacksName = lacksName
        self.isOwn = isOwn
    }

    init(_ status: stat) {
        let time = Platform.modificationTime(status)
        self.init(
            identity: Identity(device: .init(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino)),
            length: Int64(status.st_size),
            modified: Time(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec)),
            hasOtherNames: status.st_nlink > 1, lacksName: status.st_nlink == 0, isOwn: status.st_uid == geteuid())
    }
}
