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
    private func get(
        _ options: [String], through files: WatchedFiles, clock: (any Clock<Duration>)? = nil
    ) async throws -> DownloadOutcome {
        try await InProcessGet(url, options, in: folder, through: files, clock: clock).outcome
    }

    @Test("a kill at any moment loses no byte that was written", arguments: [[], ["-N"]])
    func kill(_ options: [String]) async throws {
        let (parts, url) = (PartFiles(for: file), url)
        let losses = Mutex<[String]>([])
        let files = WatchedFiles { change in
            let isComplete = parts.length(of: parts.file) == Int64(Self.content.size)
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
        // No record is saved in the middle, however long the machine takes: the clock stands.
        _ = try await get(["-N"], through: files, clock: ManualClock())
        let changes = files.changes
        let order = try [
            .write("film.bin.part"), .synchronize("film.bin.part"), .write("film.bin.resume.new"),
            .synchronize("film.bin.resume.new"), .move("film.bin.resume.new", to: "film.bin.resume"),
            .move("film.bin.part", to: "film.bin"),
        ].map { try #require(changes.lastIndex(of: $0)) }
        #expect(order == order.sorted())
        #expect(order.last == changes.indices.last)
    }

    @Test("the record of an upload is safe before it takes its name, and is removed when the upload is complete")
    func upload() async throws {
        let (new, record) = ("film.bin.upload.new", "film.bin.upload")
        let target = UploadTarget(reply: .status(201))
        // An upload that is over before its first record is made has none.
        let recorded = ServerGate()
        target.fault(.connection(.stall(until: recorded)), at: .offset(1_000_000))
        target.fault(.connection(.cut), at: .offset(1_500_000))
        let url = server.route("/put/film.bin", .upload(to: target))
        try Self.content.data.write(to: file)
        guard
            case .put(let options) = try Command(
                arguments: ["put", "film.bin", url.absoluteString, "-q", "--retry", "1"])
        else { return }
        let files = WatchedFiles { change in
            if change == .move(new, to: record) { recorded.open() }
        }
        let console = Console(STDERR_FILENO)
        let put = Put(options, output: console, errors: console, in: folder.url) {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.files = files
            return configuration
        }
        #expect(await put.run() == .success)
        let changes = files.changes
        #expect(
            Array(changes.prefix(4)) == [.create(new), .write(new), .synchronize(new), .move(new, to: record)])
        #expect(changes.last == .remove(record))
        #expect(folder.names == ["film.bin"])
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
