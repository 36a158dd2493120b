import Foundation
internal import PurlIO

/// What the path of `-o` leads to.
enum OutputPath: Equatable, Sendable {
    /// A regular file, or a name that is free.
    case file(URL)
    /// A symbolic link to a regular file: the file.
    case linkedFile(URL)
    /// Something that takes bytes and keeps none.
    case stream(StreamOutput)

    /// Follows the links at `url`. Throws for what nothing can be saved to.
    ///
    /// - Parameter name: The path as the user wrote it.
    init(at url: URL, name: String) throws(CommandFailure) {
        // The URL has lost the slash.
        if name.hasSuffix("/"), FileEntry(at: url, followingLinks: true) != .folder {
            throw CommandFailure("There is no folder “\(name)”.")
        }
        if let number = Self.descriptor(at: url.path) {
            // A descriptor of this process's own has taken the number of one that was closed. The process closes its own on exec;
            // it has inherited none that is.
            let flags = fcntl(number, F_GETFD)
            guard flags >= 0, flags & FD_CLOEXEC == 0 else { throw CommandFailure("“\(name)” is not open.") }
            self = .stream(.descriptor(number))
            return
        }
        let link = FileEntry(at: url)
        guard link != .missing else {
            self = .file(url)
            return
        }
        switch FileEntry(at: url, followingLinks: true) {
        case .regular(let file):
            guard link == .link else {
                self = .file(url)
                return
            }
            let target = url.withoutLinks
            // The path may have changed meanwhile, or be one that only the system can follow.
            guard FileEntry(at: target).regularFile?.identity == file.identity else {
                throw CommandFailure("“\(name)” is a symbolic link that cannot be resolved.")
            }
            self = .linkedFile(target)
        case .device, .pipe:
            self = .stream(.path(url))
        case .folder: throw .isFolder(name)
        case .socket: throw CommandFailure("“\(name)” is a socket, to which no file can be saved.")
        case .missing, .link:
            let target = (try? FileManager.default.destinationOfSymbolicLink(atPath: url.path)) ?? ""
            throw CommandFailure("“\(name)” is a symbolic link to “\(target)”, which leads to no file.")
        }
    }

    /// The most links that are followed, as by the system.
    private static let maximumLinks = 40

    /// The number of the descriptor that a path such as `/dev/stdout` or `/dev/fd/3` stands for, also by way of links.
    private static func descriptor(at path: String) -> Int32? {
        var path = path
        for _ in 0..<maximumLinks {
            switch path {
            case "/dev/stdin": return STDIN_FILENO
            case "/dev/stdout": return STDOUT_FILENO
            case "/dev/stderr": return STDERR_FILENO
            default: break
            }
            for folder in ["/dev/fd/", "/proc/self/fd/"] where path.hasPrefix(folder) {
                return Int32(path.dropFirst(folder.count))
            }
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return nil }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            path = URL(fileURLWithPath: target, relativeTo: folder).standardizedFileURL.path
        }
        return nil
    }
}

extension CommandFailure {
    /// The name of a file is that of a folder.
    static func isFolder(_ name: String) -> CommandFailure {
        let folder = name.hasSuffix("/") ? name : name + "/"
        return CommandFailure("“\(name)” is a folder. Choose a name in it, “-o \(folder)NAME”, or another one with -o.")
    }
}

extension Destination {
    /// Whether the bytes would go where standard output goes.
    var isStandardOutput: Bool {
        if kind == .stream(.descriptor(STDOUT_FILENO)) { return true }
        var (output, place) = (stat(), stat())
        guard fstat(STDOUT_FILENO, &output) == 0, stat(file.path, &place) == 0 else { return false }
        // What is written to a device such as /dev/null does not mix.
        return output.st_dev == place.st_dev && output.st_ino == place.st_ino && output.st_mode & S_IFMT != S_IFCHR
    }
}

/// What takes the bytes of a download as they arrive. It cannot be resumed.
enum StreamOutput: Equatable, Sendable {
    /// A device or a FIFO.
    case path(URL)
    /// An open descriptor of this process.
    case descriptor(Int32)
}

extension URL {
    /// The file at a path as it was written. What `..` means after a symbolic link only the system can tell, so it stays.
    static func file(at path: String, in folder: URL) -> URL {
        URL(fileURLWithPath: path.hasPrefix("/") ? path : "\(folder.path)/\(path)")
    }

    /// The same file by a path without symbolic links; the same path where the system can follow none.
    var withoutLinks: URL {
        guard let resolved = realpath(path, nil) else { return self }
        defer { free(resolved) }
        return URL(fileURLWithPath: String(cString: resolved))
    }

    /// The same place by a path in which no folder is a symbolic link.
    var withoutLinksInFolder: URL {
        deletingLastPathComponent().withoutLinks.appendingPathComponent(lastPathComponent)
    }
}

extension FileEntry {
    /// - Parameter followsLinks: Follows symbolic links; then one that leads nowhere is missing.
    init(at url: URL, followingLinks followsLinks: Bool = false) {
        self.init(atPath: url.path, followingLinks: followsLinks)
    }

    /// Throws where nothing can be read: where there is no file, or a folder.
    ///
    /// - Parameter path: The path, as the user has given it.
    static func checkReadable(_ path: String) throws(CommandFailure) {
        switch FileEntry(atPath: path, followingLinks: true) {
        case .missing: throw CommandFailure("There is no file “\(path)”.")
        case .folder: throw CommandFailure("“\(path)” is a folder.")
        case .regular, .link, .device, .pipe, .socket: break
        }
    }
}
