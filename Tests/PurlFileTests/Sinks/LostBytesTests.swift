import Dispatch
import Foundation
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

/// The system tells only one synchronisation of bytes that it has lost: every later one succeeds.
@Suite("A sink whose disk loses bytes", .timeLimit(.minutes(5)))
struct LostBytesTests {
    /// What ends a task whose checkpoint waits for the disk.
    enum End: CaseIterable, Sendable {
        case body, cancelling

        var code: URLError.Code {
            switch self {
            case .body: .cannotWriteToFile
            case .cancelling: .cancelled
            }
        }
    }

    /// What the file holds before, all of it safe.
    static let lengths = [0, 50_000]

    private func beginning(of length: Int) async throws -> SinkBench {
        let bench = try SinkBench(.fileHandle)
        guard length > 0 else { return bench }
        bench.answer(bench.good.cut(afterBytes: length))
        await bench.run()
        #expect(bench.bytes?.count == length)
        return bench
    }

    /// Runs a task on a disk that works.
    private func expectRest(after length: Int, in bench: SinkBench) async {
        bench.answer(bench.good)
        let outcome = await bench.run()
        #expect(outcome.error == nil)
        #expect(bench.ranges == [length > 0 ? "bytes=\(length)-" : nil])
        #expect(bench.bytes == bench.content.data)
    }

    @Test("What a checkpoint finds lost after the end does not count", arguments: End.allCases, lengths)
    func lateCheckpoint(end: End, length: Int) async throws {
        let bench = try await beginning(of: length)
        let disk = LosingDisk(of: bench.file, .whenRead)
        // A checkpoint follows the bytes by a second of this clock.
        let clock = ManualClock()
        let gate = ServerGate()
        let witness = Witness()
        let session = bench.sandbox.session(witness) { $0.clock = clock }
        bench.answer(bench.good.stalled(afterBytes: 10_000, until: gate))
        let task = session.dataTask(with: bench.url, writingTo: disk.sink)
        task.resume()
        let second = Task {
            while !Task.isCancelled {
                // The task's time-out is one of them.
                await clock.waitForDeadlines(2)
                clock.advance(by: .seconds(1))
            }
        }
        for await _ in disk.losses { break }
        second.cancel()
        switch end {
        case .body: gate.open()
        case .cancelling: task.cancel()
        }
        await witness.completion()
        expectError(witness.error(of: task), end.code, about: bench.url)
        session.invalidateAndCancel()
        gate.open()
        await expectRest(after: length, in: bench)
    }

    @Test("What is found lost at the end of the body does not count", arguments: lengths)
    func end(length: Int) async throws {
        let bench = try await beginning(of: length)
        bench.answer(bench.good)
        let witness = Witness()
        // No checkpoint is made: its second never passes.
        let session = bench.sandbox.session(witness) { $0.clock = ManualClock() }
        let task = session.dataTask(with: bench.url, writingTo: LosingDisk(of: bench.file, .atOnce).sink)
        task.resume()
        await witness.completion()
        expectError(witness.error(of: task), .cannotWriteToFile, about: bench.url)
        session.invalidateAndCancel()
        await expectRest(after: length, in: bench)
    }

    @Test("A journal does not count what is found lost at the end of the body")
    func journal() async throws {
        let sandbox = Sandbox()
        let disk = LosingDisk(of: sandbox.file("movie"), .atOnce)
        let checkpoints = Mutex<[SinkWriter.Checkpoint]>([])
        let writer = SinkWriter(
            disk.sink, .journal { checkpoint in checkpoints.withLock { $0.append(checkpoint) } }, limit: 1 << 20
        ) { _ in }
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1/movie")))
        writer.begin(
            ResumeTemplate(originalRequest: request, currentRequest: request, validator: "\"v1\"", total: 5000),
            .startingOver)
        await put(Data(count: 5000), into: writer)
        let result = await withCheckedContinuation { continuation in
            writer.complete { continuation.resume(returning: $0) }
        }
        #expect(throws: (any Error).self) { try result.get() }
        let resume = await withCheckedContinuation { continuation in
            writer.stop { continuation.resume(returning: $0) }
        }
        #expect(resume == nil)
        let counts = checkpoints.withLock { checkpoints in
            checkpoints.map { checkpoint -> Int64? in
                switch checkpoint {
                case .reset: nil
                case .partial(let resume): resume.state == .stopped ? resume.bytesReceived : nil
                case .complete(let length): length
                }
            }
        }
        #expect(counts == [nil, nil, 0])
    }

    @NetworkActor private func put(_ bytes: Data, into writer: SinkWriter) {
        _ = bytes.withUnsafeBytes { writer.put($0) }
    }
}

/// The system's files, one of which loses bytes: the first synchronisation is told.
private final class LosingDisk: FileLayer {
    /// When the first synchronisation returns.
    enum Moment {
        case atOnce
        /// When the file is read next, as it is at the end of a task.
        case whenRead
    }

    private enum Progress {
        case sound
        /// The first synchronisation is under way.
        case losing
        case lost
    }

    private let url: URL
    private let moment: Moment
    private let files = SystemFiles()
    /// Has an element when the first synchronisation has begun.
    let losses: AsyncStream<Void>
    private let loss: AsyncStream<Void>.Continuation
    private let progress = Mutex(Progress.sound)
    private let read = DispatchSemaphore(value: 0)

    init(of url: URL, _ moment: Moment) {
        self.url = url
        self.moment = moment
        (losses, loss) = AsyncStream.makeStream()
    }

    var sink: FileHandleSink { FileHandleSink(fileAt: url, recordAt: nil, completion: .safe, through: self) }

    func open(_ path: String, _ opening: RegularFile.Opening) throws(SystemError) -> any OpenFile {
        let file = try files.open(path, opening)
        return path == url.path ? LosingFile(file, self) : file
    }

    func move(_ path: String, to newPath: String) throws(SystemError) { try files.move(path, to: newPath) }
    func entry(_ path: String) -> FileEntry { files.entry(path) }
    func removeExisting(_ path: String) throws(SystemError) -> Bool { try files.removeExisting(path) }
    func synchronizeFolder(_ path: String) throws(SystemError) { try files.synchronizeFolder(path) }

    fileprivate func synchronize() throws(SystemError) {
        let isFirst = progress.withLock { progress in
            guard case .sound = progress else { return false }
            progress = .losing
            return true
        }
        guard isFirst else { return }
        loss.yield()
        switch moment {
        case .atOnce: break
        case .whenRead: read.wait()
        }
        throw SystemError(code: EIO, operation: "fsync")
    }

    fileprivate func fileIsRead() {
        progress.withLock { progress in
            guard case .losing = progress else { return }
            progress = .lost
            read.signal()
        }
    }
}

private final class LosingFile: OpenFile {
    private let file: any OpenFile
    private let disk: LosingDisk

    init(_ file: any OpenFile, _ disk: LosingDisk) {
        self.file = file
        self.disk = disk
    }

    func lock() throws(SystemError) -> Bool { try file.lock() }
    func unlock() { file.unlock() }
    func status() throws(SystemError) -> FileStatus { try file.status() }
    func isFound(at path: String) -> Bool { file.isFound(at: path) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try file.write(bytes, at: offset)
    }

    func write(_ count: Int, from pipe: ContentPipe, at offset: Int64) throws(SystemError) {
        try file.write(count, from: pipe, at: offset)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        disk.fileIsRead()
        return try file.read(into: buffer, at: offset)
    }

    func truncate(to length: Int64) throws(SystemError) { try file.truncate(to: length) }
    func synchronize() throws(SystemError) { try disk.synchronize() }
}
