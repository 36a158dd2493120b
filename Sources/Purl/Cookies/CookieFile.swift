import Foundation
internal import PurlIO
import Synchronization

/// The file in which a storage keeps its cookies.
///
/// Changes are written on a queue of the file's own, for which a program's change waits (``flush()``); those that arrive
/// while others are being written are written together. Every write makes a new file, synchronises it and moves it to the
/// old one's place, so that a crash leaves one or the other. Several processes may use the file: each reads it again under a lock and adds its own changes.
///
/// The file is text: the SHA-256 of all that follows its first line, and JSON. One that does not match its digest is
/// moved aside before the next write, and counts as empty. Only its owner can read it. Until it is written for the first
/// time, the cookies are those that FoundationNetworking has left.
final class CookieFile: Sendable {
    /// The name of a file in this format.
    static let fileName = "cookies.v1"
    /// Longer files are not read: a full jar of the largest cookies is far smaller.
    private static let maximumSize: Int64 = 64 << 20

    private struct Contents: Codable {
        static let version = 1
        var version = Contents.version
        var cookies: [StoredCookie]
    }

    /// What is at the file's path.
    private enum Finding {
        case nothing
        case cookies([StoredCookie])
        case damaged
    }

    private struct Pending {
        var changes: [CookieKey: CookieChange] = [:]
        var isAnnounced = false
    }

    private let folder: URL
    private let files: any FileLayer
    private let clock: @Sendable () -> Date
    private let predecessor: FoundationCookieFile?
    private let queue = WorkQueue(on: .files)
    private let pending = Mutex(Pending())

    /// - Parameter predecessor: What FoundationNetworking has left for the same storage.
    init(
        in folder: URL, after predecessor: FoundationCookieFile? = nil, files: any FileLayer = SystemFiles(),
        clock: @escaping @Sendable () -> Date = { .current }
    ) {
        self.folder = folder
        self.predecessor = predecessor
        self.files = files
        self.clock = clock
    }

    private var path: String { folder.appendingPathComponent(Self.fileName).path }

    /// The cookies in the file; none when it cannot be read or trusted.
    func load() -> [StoredCookie] {
        switch try? find() {
        case .cookies(let stored): stored
        case .nothing: foundationCookies
        case .damaged, nil: []
        }
    }

    private var foundationCookies: [StoredCookie] { predecessor?.read(with: files, at: clock()) ?? [] }

    /// Takes changes to be written soon. If they cannot be written, they are tried again with the next change.
    func save(_ changes: [CookieChange]) {
        let isFirst = pending.withLock { pending in
            for change in changes { pending.changes[change.key] = change }
            defer { pending.isAnnounced = true }
            return !pending.isAnnounced
        }
        if isFirst { queue.async { self.write() } }
    }

    /// Returns when everything taken so far has been written, or could not be.
    func flush() {
        queue.sync { self.write() }
    }

    /// Calls the handler, on the file's queue, when everything taken so far has been written, or could not be.
    func flush(_ completion: @escaping @Sendable () -> Void) {
        queue.async {
            self.write()
            completion()
        }
    }

    // MARK: On the queue

    private func write() {
        let changes = pending.withLock { pending in
            defer { pending = Pending() }
            return pending.changes
        }
        guard !changes.isEmpty else { return }
        do {
            try put(changes.values.sorted { $0.order < $1.order })
        } catch {
            // What has been changed again since then is newer.
            pending.withLock { $0.changes.merge(changes) { newer, _ in newer } }
        }
    }

    private func put(_ changes: [CookieChange]) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let lock = try lock()
        defer { lock.unlock() }
        var stored: [StoredCookie] = []
        var taken: [StoredCookie] = []
        switch try find() {
        case .nothing: taken = foundationCookies
        case .cookies(let found): stored = found
        case .damaged: try files.move(path, to: path + ".damaged")
        }
        let now = clock()
        var jar = CookieJar(stored + taken, at: now, tracksChanges: false)
        for change in changes {
            if let cookie = change.stored {
                jar.insert(HTTPCookie(cookie.content), set: cookie.set, at: now)
            } else {
                jar.remove(change.key)
            }
        }
        let kept = jar.storedCookies
        // What was taken over is written even where nothing of it is kept: it must not be taken over again.
        guard kept != stored || !taken.isEmpty else { return }
        try files.replace(path, with: Self.encode(kept).bytes, survivesPowerLoss: true)
        try files.synchronizeFolder(folder.path)
    }

    /// Other processes hold the lock for one write each.
    private func lock() throws -> any OpenFile {
        let path = folder.appendingPathComponent("lock").path
        for _ in 0..<200 {
            do throws(LockFailure) {
                return try files.openLocked(path, .existingOrNew)
            } catch {
                guard error == .taken else { throw error.systemError }
                usleep(5_000)
            }
        }
        throw LockFailure.taken.systemError
    }

    private func find() throws -> Finding {
        let file: any OpenFile
        do {
            file = try files.open(path, .existing)
        } catch {
            switch error.code {
            case ENOENT: return .nothing
            // A link, a folder, a device, another user's file: not a file of this format.
            case ELOOP, EISDIR, EINVAL, ENXIO, EACCES, EPERM: return .damaged
            default: throw error
            }
        }
        let size = try file.size()
        guard size <= Self.maximumSize else { return .damaged }
        return Self.decode(try file.read(Int(size), at: 0)).map { .cookies($0) } ?? .damaged
    }

    // MARK: Format

    private static func encode(_ stored: [StoredCookie]) throws -> Data {
        // Dates are encoded as seconds since 2001, which is what they hold: they are decoded exactly.
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json = try encoder.encode(Contents(cookies: stored))
        return Data(json.sha256.utf8) + [UInt8(ascii: "\n")] + json
    }

    private static func decode(_ data: Data) -> [StoredCookie]? {
        guard let end = data.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let json = Data(data[(end + 1)...])
        guard data[..<end].elementsEqual(json.sha256.utf8),
            let contents = try? JSONDecoder().decode(Contents.self, from: json),
            contents.version == Contents.version, contents.cookies.allSatisfy(\.content.isSound)
        else { return nil }
        return contents.cookies
    }

    // MARK: At the end of the process

    private static let written = Mutex<[CookieFile]>([])
    private static let atExit: Void = {
        _ = atexit {
            for file in CookieFile.written.withLock({ $0 }) { file.flush() }
        }
    }()

    /// Has the file written before the process ends in an orderly way.
    func flushAtExit() {
        guard Simulated.machine == nil else { return }
        Self.atExit
        Self.written.withLock { $0.append(self) }
    }
}

/// The folder in which a program, or several with one group identifier, keep their cookies.
struct CookieFolder {
    let url: URL

    /// What FoundationNetworking has left there for the same programs.
    let predecessor: FoundationCookieFile?

    /// The folder of the program.
    static var program: CookieFolder {
        CookieFolder(owner: UserDirectories.programName, after: FoundationCookieFile(of: "shared"))
    }

    /// The folder of the programs with a group identifier.
    static func group(_ identifier: String) -> CookieFolder {
        CookieFolder(owner: FolderName.of(identifier), after: FoundationCookieFile(of: identifier))
    }

    private init(owner: String, after predecessor: FoundationCookieFile?) {
        self.predecessor = predecessor
        url = UserDirectories.data
            .appendingPathComponent(owner, isDirectory: true)
            .appendingPathComponent("Cookies", isDirectory: true)
    }
}
