import Foundation
import Purl
import PurlIO
import Synchronization

@testable import PurlCommand

/// A run of `purl get` for one URL in this process, through a layer of files.
struct InProcessGet {
    let outcome: DownloadOutcome
    /// What it has printed.
    let lines: [String]

    init(
        _ url: URL, _ options: [String] = [], in folder: TemporaryFolder, through files: any FileLayer,
        clock: (any Clock<Duration>)? = nil
    ) async throws {
        guard case .get(let options) = try Command(arguments: ["get", url.absoluteString] + options) else {
            (outcome, lines) = (.notBegun, [])
            return
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.files = files
        configuration.clock = clock
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        // Not a pipe: processes that other tests start may inherit it, and nothing would end its text.
        let logs = TemporaryFolder()
        try logs.write("", to: "log")
        let log = try FileHandle(forWritingTo: logs.file("log"))
        let console = Console(log.fileDescriptor)
        let display = ProgressDisplay(console, count: 1)
        let context = FileDownload.Context(
            options: options, checksums: nil, session: session, display: display,
            reservations: PathReservations(), isOneOfMany: false)
        let download = FileDownload(options.requests[0], number: 0, context, console: console)
        let place = download.destination(in: folder.url, after: EarlierAttempts(in: folder.url))
        if let destination = place.flatMap(download.reserve) {
            outcome = await download.run(to: destination).0
        } else {
            outcome = .failed
        }
        // It writes from a thread of its own.
        await display.stop()
        try log.close()
        lines = String(decoding: logs.contents("log"), as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// The system's files, with a list of all changes. They are made one at a time.
final class WatchedFiles: FileLayer {
    enum Change: Sendable, Equatable {
        case create(String)
        case write(String)
        case truncate(String)
        case synchronize(String)
        case move(String, to: String)
        case remove(String)
        case synchronizeFolder
    }

    private let list = Mutex<[Change]>([])
    private let willMove: @Sendable (String) -> Void
    private let willRead: @Sendable (String, Int64) -> Void
    private let willTruncate: @Sendable (String) throws(SystemError) -> Void
    private let observer: @Sendable (Change) -> Void

    /// - Parameters:
    ///   - observer: Called after each change, before the next one.
    ///   - willMove: Called before a file is given this path.
    ///   - willRead: Called before bytes of a file are read.
    ///   - willTruncate: Called before a file is shortened, which it may refuse.
    init(
        _ observer: @escaping @Sendable (Change) -> Void = { _ in },
        willMove: @escaping @Sendable (_ path: String) -> Void = { _ in },
        willRead: @escaping @Sendable (_ name: String, _ offset: Int64) -> Void = { _, _ in },
        willTruncate: @escaping @Sendable (_ name: String) throws(SystemError) -> Void = { _ throws(SystemError) in }
    ) {
        self.willMove = willMove
        self.willRead = willRead
        self.willTruncate = willTruncate
        self.observer = observer
    }

    var changes: [Change] { list.withLock { $0 } }

    fileprivate func read(_ name: String, at offset: Int64) { willRead(name, offset) }

    fileprivate func truncate(_ name: String) throws(SystemError) { try willTruncate(name) }

    fileprivate func make<Result>(
        _ change: Change, _ body: () throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try list.withLock { list throws(SystemError) in
            let result = try body()
            list.append(change)
            observer(change)
            return result
        }
    }

    private func name(_ path: String) -> String { URL(fileURLWithPath: path).lastPathComponent }

    func entry(_ path: String) -> FileEntry { SystemFiles().entry(path) }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        let (name, isThere) = (name(path), entry(path) != .missing)
        let file = try SystemFiles().open(path, opening)
        if !isThere { try make(.create(name)) { () throws(SystemError) in } }
        return WatchedFile(file, name, self)
    }

    func move(_ path: String, to newPath: String) throws(SystemError) {
        willMove(newPath)
        try make(.move(name(path), to: name(newPath))) { () throws(SystemError) in
            try SystemFiles().move(path, to: newPath)
        }
    }

    func move(_ path: String, toFree newPath: String) throws(SystemError) {
        willMove(newPath)
        try make(.move(name(path), to: name(newPath))) { () throws(SystemError) in
            try SystemFiles().move(path, toFree: newPath)
        }
    }

    func removeExisting(_ path: String) throws(SystemError) -> Bool {
        guard entry(path) != .missing else { return false }
        return try make(.remove(name(path))) { () throws(SystemError) in try SystemFiles().removeExisting(path) }
    }

    func synchronizeFolder(_ path: String) throws(SystemError) {
        try make(.synchronizeFolder) { () throws(SystemError) in try SystemFiles().synchronizeFolder(path) }
    }
}

private final class WatchedFile: OpenFile {
    private let file: any OpenFile
    private let name: String
    private let files: WatchedFiles

    init(_ file: any OpenFile, _ name: String, _ files: WatchedFiles) {
        (self.file, self.name, self.files) = (file, name, files)
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        files.read(name, at: offset)
        return try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try files.make(.write(name)) { () throws(SystemError) in try file.write(bytes, at: offset) }
    }

    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        try files.make(.write(name)) { () throws(SystemError) in try file.write(count, from: pipe, at: offset) }
    }

    func truncate(to length: Int64) throws(SystemError) {
        try files.truncate(name)
        try files.make(.truncate(name)) { () throws(SystemError) in try file.truncate(to: length) }
    }

    func synchronize() throws(SystemError) {
        try files.make(.synchronize(name)) { () throws(SystemError) in try file.synchronize() }
    }
}
