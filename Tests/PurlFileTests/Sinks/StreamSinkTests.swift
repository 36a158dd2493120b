import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Sinks on streams that are not files", .timeLimit(.minutes(5)))
struct StreamSinkTests {
    @Test("A stream to memory receives the body")
    func memory() async throws {
        let bench = try SinkBench(.outputStream)
        bench.answer(bench.good)
        let stream = OutputStream(toMemory: ())
        // The sink owns the stream until the task has completed.
        nonisolated(unsafe) let memory = stream
        let outcome = await bench.run(into: OutputStreamSink(memory))
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(memory.property(forKey: .dataWrittenToMemoryStreamKey) as? Data == bench.content.data)
        #expect(memory.streamStatus == .closed)
    }

    @Test("A stream cannot start over")
    func startingOver() async throws {
        let bench = try SinkBench(.outputStream)
        let sink = OutputStreamSink(OutputStream(toMemory: ()))
        bench.answer(bench.good.cut(afterBytes: 100_000, times: 1))
        let lost = await bench.run(into: sink)
        expectError(lost.error, .networkConnectionLost, about: bench.url)
        let outcome = await bench.run(into: sink)
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
        #expect(outcome.error?.userInfo[NSUnderlyingErrorKey] != nil)
    }

    @Test("A full device fails the task")
    func fullDevice() async throws {
        let bench = try SinkBench(.outputStream)
        bench.answer(bench.good)
        let stream = try #require(OutputStream(toFileAtPath: "/dev/full", append: true))
        let outcome = await bench.run(into: OutputStreamSink(stream))
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
        #expect(posixCode(outcome.error) == Int(ENOSPC))
    }

    @Test("Too small a buffer fails the task")
    func smallBuffer() async throws {
        let bench = try SinkBench(.outputStream)
        bench.answer(bench.good)
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: 1_000)
        defer { buffer.deallocate() }
        // Only the stream uses the buffer.
        nonisolated(unsafe) let stream = OutputStream(toBuffer: buffer, capacity: 1_000)
        let outcome = await bench.run(into: OutputStreamSink(stream))
        expectError(outcome.error, .cannotWriteToFile, about: bench.url)
    }

    @Test("A stream that cannot be opened fails the task")
    func cannotOpen() async throws {
        let bench = try SinkBench(.outputStream)
        bench.answer(bench.good)
        let stream = try #require(OutputStream(toFileAtPath: "/proc/none/file", append: false))
        let outcome = await bench.run(into: OutputStreamSink(stream))
        let codes: [URLError.Code?] = [.cannotOpenFile, .cannotWriteToFile, .cannotCreateFile]
        #expect(codes.contains(outcome.error?.code))
        #expect(posixCode(outcome.error) == Int(ENOENT))
    }

    // MARK: Pipes

    /// A named pipe. Opening it for writing waits for a reader, and writing does when it is full.
    private func makePipe(in sandbox: Sandbox) -> URL {
        let url = sandbox.file("pipe")
        #expect(mkfifo(url.path, 0o600) == 0)
        return url
    }

    /// Opens a pipe for reading, and returns when a writer has opened it: reading ends at once as long as there is none.
    private func openReader(of pipe: URL) async -> FileHandle {
        let descriptor = await onOwnThread { open(pipe.path, O_RDONLY | O_CLOEXEC) }
        #expect(descriptor >= 0)
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Everything until the writer closes the pipe.
    private func readToEnd(_ reader: FileHandle) async -> Data {
        await onOwnThread { (try? reader.readToEnd()) ?? Data() }
    }

    @Test("A blocked pipe does not delay other tasks")
    func blockedPipe() async throws {
        let bench = try SinkBench(.outputStream)
        let content = GeneratedContent(size: 5_000_000, seed: 4)
        bench.answer(.generated(content))
        bench.server.route("/other", bench.good)
        let pipe = makePipe(in: bench.sandbox)
        let witness = Witness()
        let session = bench.sandbox.session(witness)
        let stream = try #require(OutputStream(toFileAtPath: pipe.path, append: true))
        let blocked = session.dataTask(with: bench.url, writingTo: OutputStreamSink(stream)).resumed()
        let reader = await openReader(of: pipe)
        await witness.wait { $0 == [.response(200)] }

        // While the pipe is not read, other tasks complete: data, downloads and other sinks.
        for index in 0..<20 {
            let (data, _) = try await session.data(from: bench.server.url("/other"))
            #expect(data == bench.content.data)
            let (file, _) = try await session.download(from: bench.server.url("/other"))
            #expect(try bench.content.matches(fileAt: file))
            try FileManager.default.removeItem(at: file)
            let other = session.dataTask(
                with: bench.server.url("/other"), writingTo: FileHandleSink(fileAt: bench.sandbox.file("\(index)")))
            other.resume()
            await witness.wait { $0.count { $0 == .completed(nil) } == index + 1 }
            #expect(try bench.content.matches(fileAt: bench.sandbox.file("\(index)")))
        }
        #expect(blocked.state == .running)
        // Memory is bounded: the server is not read to its end.
        #expect(blocked.countOfBytesReceived < 3_000_000)

        let read = await readToEnd(reader)
        #expect(read == content.data)
        await witness.completion(of: 21)
        #expect(witness.events.last == .completed(nil))
    }

    @Test("A task with a blocked pipe can be cancelled")
    func blockedCancelled() async throws {
        let bench = try SinkBench(.outputStream)
        bench.answer(.generated(size: 5_000_000))
        let pipe = makePipe(in: bench.sandbox)
        let witness = Witness()
        let session = bench.sandbox.session(witness)
        let stream = try #require(OutputStream(toFileAtPath: pipe.path, append: true))
        let blocked = session.dataTask(with: bench.url, writingTo: OutputStreamSink(stream)).resumed()
        let reader = await openReader(of: pipe)
        await bench.server.wait { $0.requests.last?.bytesSent ?? 0 > 1_000_000 }
        blocked.cancel()
        // The connection is closed at once.
        await bench.server.waitUntilDisconnected()
        // The task completes with the write that had begun, which cannot be cancelled.
        _ = await readToEnd(reader)
        await witness.completion()
        expectError(witness.error(of: blocked), .cancelled, about: bench.url)
    }

    @Test("A closed reader fails the task and does not end the program")
    func brokenPipe() async throws {
        await #expect(processExitsWith: .success) {
            let bench = try SinkBench(.outputStream)
            bench.answer(.generated(size: 5_000_000))
            let pipe = bench.sandbox.file("pipe")
            #expect(mkfifo(pipe.path, 0o600) == 0)
            let reader = open(pipe.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            #expect(reader >= 0)
            let stream = try #require(OutputStream(toFileAtPath: pipe.path, append: true))
            stream.open()
            close(reader)
            let outcome = await bench.run(into: OutputStreamSink(stream))
            expectError(outcome.error, .cannotWriteToFile, about: bench.url)
            #expect(posixCode(outcome.error) == Int(EPIPE))
        }
    }
}
