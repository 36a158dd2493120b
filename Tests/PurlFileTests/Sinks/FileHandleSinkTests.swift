import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

/// Sinks on handles that are open already, and files that are moved.
@Suite("Sinks on open file handles, and moved files", .timeLimit(.minutes(5)))
struct FileHandleSinkTests {
    /// A handle on the bench's file, readable and writable.
    private func openHandle(_ bench: SinkBench) -> FileHandle {
        FileHandle(fileDescriptor: open(bench.file.path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644), closeOnDealloc: true)
    }

    private func sink(_ bench: SinkBench, recordAt record: URL?) -> FileHandleSink {
        FileHandleSink(openHandle(bench), recordAt: record)
    }

    // MARK: Handles

    @Test("Without a record the load starts over")
    func noRecord() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        await bench.run(into: sink(bench, recordAt: nil))
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        let outcome = await bench.run(into: sink(bench, recordAt: nil))
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.ranges == [nil])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.recorded == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.sandbox.folder.path) == ["movie"])
    }

    @Test("With a record the load is resumed")
    func record() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        await bench.run(into: sink(bench, recordAt: bench.record))
        await bench.run(into: sink(bench, recordAt: bench.record))
        #expect(bench.ranges == ["bytes=100000-"])
        #expect(bench.bytes == bench.content.data)
        await bench.run(into: sink(bench, recordAt: bench.record))
        #expect(bench.server.requests.isEmpty)
    }

    @Test("The caller's handle stays open")
    func handle() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let handle = openHandle(bench)
        let sink = FileHandleSink(handle, recordAt: nil)
        #expect(sink.fileURL == nil)
        await bench.run(into: sink)
        try handle.seek(toOffset: 0)
        #expect(try handle.readToEnd() == bench.content.data)
        #expect(throws: (any Error).self) { try sink.move(to: bench.sandbox.file("moved")) }
    }

    @Test("A sink that was closed for good leaves its file to the next one")
    func closedForGood() throws {
        let bench = try SinkBench(.fileHandle)
        let (first, second) = (FileHandleSink(fileAt: bench.file), FileHandleSink(fileAt: bench.file))
        try first.append(Data("first".utf8))
        first.closeForGood()
        #expect(throws: (any Error).self) { try first.bytes(in: 0..<5) }
        #expect(throws: (any Error).self) { try first.append(Data("late".utf8)) }
        #expect(throws: (any Error).self) { _ = try first.makeSynchronization() }
        try second.append(Data(", second".utf8))
        #expect(bench.bytes == Data("first, second".utf8))
    }

    @Test("A read-only handle fails the task")
    func readOnly() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        try Data("old".utf8).write(to: bench.file)
        let handle = try FileHandle(forReadingFrom: bench.file)
        let outcome = await bench.run(into: FileHandleSink(handle, recordAt: nil))
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
        #expect(outcome.error?.userInfo[NSUnderlyingErrorKey] != nil)
        #expect(bench.bytes == Data("old".utf8))
    }

    // MARK: Moving

    private func expectFinished(_ bench: SinkBench, at file: URL) async throws {
        #expect(try bench.content.matches(fileAt: file))
        await bench.run(into: FileHandleSink(fileAt: file))
        #expect(bench.server.requests.isEmpty)
    }

    @Test("A file that is moved between tasks is resumed at its new place")
    func movedBetween() async throws {
        let bench = try SinkBench(.fileHandle)
        await bench.writeTheBeginning()
        let sink = FileHandleSink(fileAt: bench.file)
        let moved = bench.sandbox.file("moved")
        try sink.move(to: moved)
        #expect(sink.fileURL == moved)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.sandbox.folder.path).sorted() == [
                "moved", "moved.resume",
            ])
        await bench.run(into: sink)
        #expect(bench.ranges == ["bytes=100000-"])
        try await expectFinished(bench, at: moved)
    }

    @Test("A file that is moved during a task is written at its new place")
    func movedDuring() async throws {
        let bench = try SinkBench(.fileHandle)
        let gate = ServerGate()
        bench.answer(bench.good.stalled(afterBytes: 100_000, until: gate))
        let sink = FileHandleSink(fileAt: bench.file)
        let moved = bench.sandbox.file("moved")
        let witness = Witness()
        let session = bench.sandbox.session(witness)
        session.dataTask(with: bench.url, writingTo: sink).resume()
        await gate.reached()
        await witness.wait { $0 == [.response(200)] }
        // Its writer creates the file and the record at this moment, or has done so.
        try sink.move(to: moved)
        gate.open()
        await witness.completion()
        #expect(witness.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == nil)
        #expect(bench.recorded == nil)
        session.invalidateAndCancel()
        try await expectFinished(bench, at: moved)
    }

    @Test("Moving replaces a file and its record")
    func replacing() async throws {
        let bench = try SinkBench(.fileHandle)
        await bench.writeTheWhole()
        let moved = bench.sandbox.file("moved")
        try Data("old".utf8).write(to: moved)
        try Data("old record".utf8).write(to: bench.sandbox.file("moved.resume"))
        try FileHandleSink(fileAt: bench.file).move(to: moved)
        try await expectFinished(bench, at: moved)
    }

    @Test("Moving only the file, or only the record, keeps the record", arguments: [true, false])
    func keptRecord(movesFile: Bool) async throws {
        let bench = try SinkBench(.fileHandle)
        await bench.writeTheBeginning()
        let sink = FileHandleSink(fileAt: bench.file)
        let moved = movesFile ? bench.sandbox.file("moved") : bench.file
        try sink.move(to: moved, recordAt: bench.record)
        #expect(bench.recorded?["bytesReceived"] as? Int == 100_000)
        await bench.run(into: sink)
        #expect(bench.ranges == ["bytes=100000-"])
        #expect(try bench.content.matches(fileAt: moved))
    }

    @Test("Moving a sink without a file changes where the file is made")
    func movingNothing() async throws {
        let bench = try SinkBench(.fileHandle)
        bench.answer(bench.good)
        let sink = FileHandleSink(fileAt: bench.file)
        let moved = bench.sandbox.file("moved")
        try sink.move(to: moved)
        await bench.run(into: sink)
        #expect(bench.bytes == nil)
        try await expectFinished(bench, at: moved)
    }

    @Test("A failed move changes nothing")
    func failedMove() async throws {
        let bench = try SinkBench(.fileHandle)
        await bench.writeTheBeginning()
        let sink = FileHandleSink(fileAt: bench.file)
        let error = #expect(throws: (any Error).self) { try sink.move(to: bench.sandbox.file("none/moved")) }
        #expect(posixCode(error) == Int(ENOENT))
        #expect(sink.fileURL == bench.file)
        await bench.run(into: sink)
        #expect(bench.ranges == ["bytes=100000-"])
        #expect(bench.bytes == bench.content.data)
    }
}

@Suite("Sinks whose file cannot be made, opened or written", .timeLimit(.minutes(5)))
struct SinkFileFailureTests {
    private static let codes: [URLError.Code?] = [.cannotCreateFile, .cannotOpenFile, .cannotWriteToFile]

    @Test("A path below a file fails with a file error", arguments: SinkKind.allCases)
    func belowFile(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        try Data("a file".utf8).write(to: bench.file)
        let outcome = await bench.run(into: kind.sink(at: bench.file.appendingPathComponent("below")))
        #expect(Self.codes.contains(outcome.error?.code))
        #expect(outcome.error?.failingURL == bench.url)
        #expect(posixCode(outcome.error) == Int(ENOTDIR))
        #expect(bench.bytes == Data("a file".utf8))
    }

    @Test("A missing folder fails with a file error", arguments: SinkKind.allCases)
    func missingFolder(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let outcome = await bench.run(into: kind.sink(at: bench.sandbox.file("none/movie")))
        #expect(Self.codes.contains(outcome.error?.code))
        #expect(posixCode(outcome.error) == Int(ENOENT))
    }

    @Test("A folder in the file's place fails with a file error", arguments: SinkKind.allCases)
    func folder(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let outcome = await bench.run(into: kind.sink(at: bench.sandbox.folder, recordAt: bench.record))
        #expect(Self.codes.contains(outcome.error?.code))
        #expect(posixCode(outcome.error) == Int(EISDIR))
    }

    @Test("A record that cannot be saved fails the task", arguments: SinkKind.allCases)
    func unwritableRecord(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let outcome = await bench.run(
            into: kind.sink(at: bench.file, recordAt: bench.sandbox.file("none/record")))
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
        #expect(posixCode(outcome.error) == Int(ENOENT))
    }

    @Test(
        "A full disk fails the task, and its bytes are resumed", .enabled(if: TinyDisk.isAvailable),
        arguments: SinkKind.allCases)
    func fullDisk(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let content = GeneratedContent(size: 400_000, seed: 3)
        bench.answer(.generated(content).entityTag("\"v1\""))
        let disk = try TinyDisk(in: bench.sandbox, "disk")
        let file = disk.folder.appendingPathComponent("movie")
        let sink = kind.sink(at: file, recordAt: bench.record)
        let outcome = await bench.run(into: sink)
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
        #expect(posixCode(outcome.error) == Int(ENOSPC))
        try disk.grow()
        let second = await bench.run(into: sink)
        #expect(second.error == nil)
        #expect(try content.matches(fileAt: file))
    }
}
