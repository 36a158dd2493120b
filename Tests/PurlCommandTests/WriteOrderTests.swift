import Foundation
import Purl
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import PurlCommand

@Suite("The order in which purl get changes its files", .timeLimit(.minutes(5)))
struct WriteOrderTests {
    static let content = GeneratedContent(size: 2_500_000, seed: 8)

    let folder = TemporaryFolder()
    let server: LoopbackServer
    let url: URL

    init() throws {
        server = try LoopbackServer()
        url = server.route("/film.bin", .generated(Self.content).entityTag("\"v1\"").inPieces(of: 300_000))
    }

    private var file: URL { folder.file("film.bin") }

    /// Runs the download of one file through a layer.
    private func get(_ options: [String], through files: WatchedFiles) async throws -> DownloadOutcome {
        guard case .get(let options) = try Command(arguments: ["get", url.absoluteString, "-q"] + options) else {
            return .notBegun
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.files = files
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let console = Console(STDERR_FILENO)
        let context = FileDownload.Context(
            options: options, checksums: nil, session: session, display: ProgressDisplay(console, count: 1),
            reservations: PathReservations(), isOneOfMany: false)
        let download = FileDownload(options.requests[0], number: 0, context, console: console)
        let place = download.destination(in: folder.url, after: EarlierAttempts(in: folder.url))
        return await download.run(to: try #require(place.flatMap(download.reserve))).0
    }

    @Test("a kill at any moment loses no byte that was written", arguments: [[], ["-N"]])
    func kill(_ options: [String]) async throws {
        let (parts, url) = (PartFiles(for: file), url)
        let losses = Mutex<[String]>([])
        let files = WatchedFiles { change in
            let isComplete = PartFiles.length(of: parts.file) == Int64(Self.content.size)
            guard !isComplete, parts.length > 0 else { return }
            guard case .unfinished(let record) = parts.content(for: [url]), record.bytesReceived == parts.length else {
                return losses.withLock { $0.append("\(change): \(parts.length) bytes, \(parts.content(for: [url]))") }
            }
        }
        #expect(try await get(options, through: files) == .complete(bytes: 2_500_000, new: 2_500_000))
        #expect(losses.withLock { $0 } == [])
        #expect(try Self.content.matches(fileAt: file))
        #expect(folder.names == ["film.bin"] + (options.isEmpty ? [] : ["film.bin.resume"]))
    }

    @Test("the bytes are safe before a record counts them that stays, and the file gets its name last")
    func order() async throws {
        let files = WatchedFiles { _ in }
        _ = try await get(["-N"], through: files)
        let changes = files.changes
        let order = try [
            .write("film.bin.part"), .synchronize("film.bin.part"), .write("film.bin.resume.new"),
            .synchronize("film.bin.resume.new"), .move("film.bin.resume.new", to: "film.bin.resume"),
            .move("film.bin.part", to: "film.bin"),
        ].map { try #require(changes.lastIndex(of: $0)) }
        #expect(order == order.sorted())
        #expect(order.last == changes.indices.last)
    }

    @Test("a record precedes the first byte")
    func firstRecord() async throws {
        let files = WatchedFiles { _ in }
        _ = try await get([], through: files)
        let record = try #require(files.changes.firstIndex(of: .move("film.bin.resume.new", to: "film.bin.resume")))
        let byte = try #require(files.changes.firstIndex(of: .write("film.bin.part")))
        #expect(record < byte)
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
    private let observer: @Sendable (Change) -> Void

    /// - Parameter observer: Called after each change, before the next one.
    init(_ observer: @escaping @Sendable (Change) -> Void) {
        self.observer = observer
    }

    var changes: [Change] { list.withLock { $0 } }

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
        try make(.move(name(path), to: name(newPath))) { () throws(SystemError) in
            try SystemFiles().move(path, to: newPath)
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
        try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try files.make(.write(name)) { () throws(SystemError) in try file.write(bytes, at: offset) }
    }

    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        try files.make(.write(name)) { () throws(SystemError) in try file.write(count, from: pipe, at: offset) }
    }

    func truncate(to length: Int64) throws(SystemError) {
        try files.make(.truncate(name)) { () throws(SystemError) in try file.truncate(to: length) }
    }

    func synchronize() throws(SystemError) {
        try files.make(.synchronize(name)) { () throws(SystemError) in try file.synchronize() }
    }
}
