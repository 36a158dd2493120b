import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Download tasks", .timeLimit(.minutes(5)))
struct DownloadTaskTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let content = GeneratedContent(size: 300_000, seed: 3)

    @Test("Bytes are written to the file as they arrive")
    func writing() async throws {
        let gates = [ServerGate(), ServerGate()]
        let server = try LoopbackServer()
        let url = server.route(
            "/file",
            .generated(content).entityTag("\"v1\"").stalled(afterBytes: 50_000, until: gates[0])
                .stalled(afterBytes: 200_000, until: gates[1]))
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        for (gate, count) in zip(gates, [50_000, 200_000]) {
            await witness.wait { $0.contains(.wrote(Int64(count), of: 300_000)) }
            let name = try #require(sandbox.partialNames.first)
            #expect(try Data(contentsOf: sandbox.partials.appendingPathComponent(name)) == content.bytes(0..<count))
            #expect(task.countOfBytesReceived == Int64(count))
            gate.open()
        }
        await witness.completion()
        #expect(witness.events == [.wrote(300_000, of: 300_000), .file(300_000), .completed(nil)])
        #expect(witness.file(of: task) == content.data)
        #expect(sandbox.partialNames == [])
    }

    /// A delegate that adds up the counts it receives.
    private final class Adder: NSObject, URLSessionDownloadDelegate, Sendable {
        let sums = Mutex<(written: Int64, last: Int64, isExact: Bool)>((0, 0, true))
        let expected = Mutex<Set<Int64>>([])
        private let look: @Sendable (URL) -> Void
        private let ends = AsyncStream<Void>.makeStream()

        /// - Parameter look: Runs with the file's location.
        init(look: @escaping @Sendable (URL) -> Void) { self.look = look }

        /// Returns when the task has completed.
        func completion() async { for await _ in ends.stream.prefix(1) {} }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            #expect(error == nil)
            ends.continuation.yield()
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            look(location)
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
            expectedTotalBytes: Int64
        ) {
            sums.withLock { $0.last = fileOffset }
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) {
            sums.withLock { sums in
                sums.written += bytesWritten
                sums.isExact = sums.isExact && bytesWritten > 0 && sums.last + bytesWritten == totalBytesWritten
                sums.last = totalBytesWritten
            }
            expected.withLock { _ = $0.insert(totalBytesExpectedToWrite) }
        }
    }

    @Test("The counts of didWriteData add up to the file's size", arguments: [true, false])
    func counts(tellsLength: Bool) async throws {
        let big = GeneratedContent(size: 20_000_000, seed: 2)
        let server = try LoopbackServer()
        let url = server.route("/file", tellsLength ? .generated(big) : .generated(big).chunked())
        let adder = Adder { #expect((try? big.matches(fileAt: $0)) == true) }
        sandbox.session(adder).downloadTask(with: url).resume()
        await adder.completion()
        let sums = adder.sums.withLock { $0 }
        #expect(sums.written == 20_000_000)
        #expect(sums.last == 20_000_000)
        #expect(sums.isExact)
        #expect(adder.expected.withLock { $0 } == [tellsLength ? 20_000_000 : NSURLSessionTransferSizeUnknown])
    }

    @Test("The counts of a resumed download start at its offset")
    func resumedCounts() async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource.inPieces(of: 10_000))
        let adder = Adder { #expect((try? paused.content.matches(fileAt: $0)) == true) }
        let session = paused.sandbox.session(adder)
        session.downloadTask(withResumeData: paused.blob).resume()
        await adder.completion()
        let sums = adder.sums.withLock { $0 }
        #expect(sums.written == 200_000)
        #expect(sums.last == 300_000)
        #expect(sums.isExact)
    }

    @Test("A file that the delegate moves stays, with the mode of one that the program creates")
    func movedFile() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let destination = sandbox.file("kept")
        let adder = Adder { try? FileManager.default.moveItem(at: $0, to: destination) }
        sandbox.session(adder).downloadTask(with: url).resume()
        await adder.completion()
        #expect(try content.matches(fileAt: destination))
        #expect(sandbox.partialNames == [])
        #expect(try mode(of: destination) == modeOfNewFile())
    }

    private func mode(of file: URL) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    /// The mode that the system gives a file of this process.
    private func modeOfNewFile() throws -> Int? {
        let file = sandbox.file("new")
        close(open(file.path, O_CREAT | O_EXCL | O_WRONLY, 0o666))
        return try mode(of: file)
    }

    @Test("A file that the completion handler moves stays, with the mode of one that the program creates")
    func movedInHandler() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let session = sandbox.session()
        for moves in [true, false] {
            let destination = sandbox.file("kept-\(moves)")
            let (location, status) = await withCheckedContinuation { continuation in
                session.downloadTask(with: url) { location, response, error in
                    #expect(error == nil)
                    if moves, let location { try? FileManager.default.moveItem(at: location, to: destination) }
                    continuation.resume(returning: (location, (response as? HTTPURLResponse)?.statusCode))
                }.resume()
            }
            #expect(location != nil)
            #expect(status == 200)
            #expect(((try? content.matches(fileAt: destination)) == true) == moves)
            if moves { #expect(try mode(of: destination) == modeOfNewFile()) }
        }
        session.finishTasksAndInvalidate()
        await server.waitUntilDisconnected()
        #expect(sandbox.partialNames == [])
    }

    @Test("The file of an async download belongs to the caller")
    func async() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let (file, response) = try await sandbox.session().download(from: url)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(try content.matches(fileAt: file))
        #expect(sandbox.partialNames == [file.lastPathComponent])
    }

    @Test("Files of every size are complete", arguments: [0, 1, 65_535, 1 << 20, 1 << 20 + 1])
    func sizes(size: Int) async throws {
        let content = GeneratedContent(size: size, seed: 1)
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content))
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        await witness.completion()
        #expect(witness.file(of: task) == content.data)
        #expect(witness.events.suffix(2) == [.file(size), .completed(nil)])
        #expect(sandbox.partialNames == [])
    }

    @Test("The body of an error response is delivered as a file")
    func errorPage() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("no such thing").status(404))
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        await witness.completion()
        #expect(witness.file(of: task) == Data("no such thing".utf8))
        #expect(witness.events.last == .completed(nil))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 404)
        #expect(sandbox.partialNames == [])
    }

    @Test("A cancelled download leaves no file")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000))
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: url).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        #expect(sandbox.partialNames.count == 1)
        task.cancel()
        await witness.completion()
        expectError(witness.error(of: task), .cancelled, about: url)
        #expect(sandbox.partialNames == [])
        session.invalidateAndCancel()
        server.stop()
    }

    @Test("500 concurrent downloads all complete")
    func concurrent() async throws {
        let server = try LoopbackServer()
        for index in 0..<500 { server.route("/\(index)", .generated(size: 50_000, seed: UInt64(index))) }
        let session = sandbox.session(witness)
        let tasks = (0..<500).map { session.downloadTask(with: server.url("/\($0)")) }
        for task in tasks { task.resume() }
        await witness.completion(of: 500)
        for (index, task) in tasks.enumerated() {
            let file = try #require(witness.file(of: task))
            #expect(file.count == 50_000 && GeneratedContent(size: 50_000, seed: UInt64(index)).matches(file))
            #expect(witness.error(of: task) == nil)
        }
        #expect(server.requests.count == 500)
        #expect(server.acceptedConnections <= 6)
        #expect(sandbox.partialNames == [])
    }
}
