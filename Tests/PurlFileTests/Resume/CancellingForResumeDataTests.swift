import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("cancelByProducingResumeData", .timeLimit(.minutes(5)))
struct CancellingForResumeDataTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let gate = ServerGate()
    private let content = GeneratedContent(size: 300_000, seed: 3)

    private func stalledServer() throws -> (LoopbackServer, URL) {
        let server = try LoopbackServer()
        return (server, server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000)))
    }

    @Test("A task that was not resumed has no resume data")
    func beforeResume() async throws {
        let (server, url) = try stalledServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: url)
        #expect(await task.cancelByProducingResumeData() == nil)
        await witness.completion()
        #expect(witness.events == [.completed(.cancelled)])
        expectError(witness.error(of: task), .cancelled, about: url)
        #expect(task.state == .completed)
        #expect(server.requests.isEmpty)
        #expect(sandbox.partialNames == [])
    }

    @Test("A completed task has no resume data")
    func afterCompletion() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\""))
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        await witness.completion()
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(witness.events == [.wrote(300_000, of: 300_000), .file(300_000), .completed(nil)])
        #expect(task.error == nil)
        #expect(sandbox.partialNames == [])
    }

    @Test("A second call returns nil")
    func secondCall() async throws {
        let (server, url) = try stalledServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: url).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        async let first = task.cancelByProducingResumeData()
        async let second = task.cancelByProducingResumeData()
        let answers = await [first, second]
        #expect(answers.compactMap { $0 }.count == 1)
        await witness.completion()
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(witness.events.suffix(1) == [.completed(.cancelled)])
        session.invalidateAndCancel()
        server.stop()
    }

    @Test("A call after cancel() returns nil")
    func afterCancel() async throws {
        let (server, url) = try stalledServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: url).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        task.cancel()
        #expect(await task.cancelByProducingResumeData() == nil)
        await witness.completion()
        expectError(witness.error(of: task), .cancelled, about: url)
        #expect(witness.error(of: task)?.downloadTaskResumeData == nil)
        #expect(sandbox.partialNames == [])
        session.invalidateAndCancel()
        server.stop()
    }

    @Test("The handler is called on the delegate queue before the completion, whose error has the same data")
    func order() async throws {
        let (server, url) = try stalledServer()
        let queue = OperationQueue()
        let calls = Mutex<[String]>([])
        let blobs = Mutex<[Data?]>([])
        let witness = Witness(hook: { task, event in
            if case .completed = event {
                calls.withLock { $0.append("completion on queue: \(OperationQueue.current === queue)") }
                blobs.withLock { $0.append((task.error as? URLError)?.downloadTaskResumeData) }
            }
        })
        let session = sandbox.session(witness, queue: queue)
        let task = session.downloadTask(with: url).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        task.cancel { blob in
            calls.withLock { $0.append("handler on queue: \(OperationQueue.current === queue)") }
            blobs.withLock { $0.append(blob) }
        }
        await witness.completion()
        #expect(calls.withLock { $0 } == ["handler on queue: true", "completion on queue: true"])
        let seen = blobs.withLock { $0 }
        #expect(seen.count == 2)
        #expect(seen.first.flatMap { $0 } != nil)
        #expect(seen.first == seen.last)
        session.invalidateAndCancel()
        server.stop()
    }

    @Test("The error of a completion handler has the same resume data")
    func completionHandler() async throws {
        let server = try LoopbackServer()
        let stalled = Reply.generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000, until: gate)
        let url = server.route("/file", stalled)
        let session = sandbox.session()
        let (results, continuation) = AsyncStream<URLError?>.makeStream()
        let task = session.downloadTask(with: url) { location, _, error in
            #expect(location == nil)
            continuation.yield(error as? URLError)
        }
        task.resume()
        await gate.reached()
        // Possibly no byte was written yet: then both have no resume data.
        let blob = await task.cancelByProducingResumeData()
        let error = try #require(await results.first { _ in true } ?? nil)
        expectError(error, .cancelled, about: url)
        #expect(error.downloadTaskResumeData == blob)
        gate.open()
    }

    @Test("Resume data can be produced inside didWriteData")
    func inDidWriteData() async throws {
        let (server, url) = try stalledServer()
        let (blobs, continuation) = AsyncStream<Data?>.makeStream()
        let witness = Witness(hook: { task, event in
            if case .wrote(100_000, _) = event, let task = task as? URLSessionDownloadTask {
                task.cancel { continuation.yield($0) }
            }
        })
        let session = sandbox.session(witness)
        session.downloadTask(with: url).resume()
        let blob = try #require(await blobs.first { _ in true } ?? nil)
        await witness.completion()
        #expect(witness.events == [.wrote(100_000, of: 300_000), .completed(.cancelled)])
        server.route("/file", .generated(content).entityTag("\"v1\""))
        let second = session.downloadTask(withResumeData: blob).resumed()
        await witness.completion(of: 2)
        #expect(witness.file(of: second) == content.data)
        #expect(witness.events.contains(.resumed(at: 100_000, of: 300_000)))
    }

    @Test("Inside didFinishDownloadingTo there is no resume data, and the file is delivered")
    func inDidFinish() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(content).entityTag("\"v1\""))
        let (blobs, continuation) = AsyncStream<Data?>.makeStream()
        let witness = Witness(hook: { task, event in
            if case .file = event, let task = task as? URLSessionDownloadTask {
                task.cancel { continuation.yield($0) }
            }
        })
        let task = sandbox.session(witness).downloadTask(with: url).resumed()
        #expect(await blobs.first { _ in true } == .some(nil))
        await witness.completion()
        #expect(witness.events == [.wrote(300_000, of: 300_000), .file(300_000), .completed(nil)])
        #expect(witness.file(of: task) == content.data)
        #expect(task.state == .completed)
        #expect(sandbox.partialNames == [])
    }

    @Test("A suspended task has resume data")
    func suspended() async throws {
        let (server, url) = try stalledServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: url).resumed()
        await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
        task.suspend()
        let blob = try #require(await task.cancelByProducingResumeData())
        server.route("/file", .generated(content).entityTag("\"v1\""))
        let (file, _) = try await session.download(resumeFrom: blob)
        #expect(try content.matches(fileAt: file))
    }

    @Test("A resumed download that is cancelled before the response returns its resume data unchanged")
    func beforeResponse() async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource.delayed(until: gate))
        let session = paused.sandbox.session(witness)
        let task = session.downloadTask(withResumeData: paused.blob).resumed()
        await gate.reached()
        #expect(await task.cancelByProducingResumeData() == paused.blob)
        await witness.completion()
        #expect(witness.events == [.completed(.cancelled)])
        gate.open()
        session.invalidateAndCancel()
        paused.answer(paused.sameResource)
        let outcome = await paused.resume()
        #expect(outcome.resumedAt == [100_000])
        #expect(outcome.file == paused.content.data)
    }

    @Test(
        "A resumed download that is cancelled before its request returns its resume data unchanged",
        arguments: [false, true])
    func beforeStart(wasStarted: Bool) async throws {
        let paused = try await PausedDownload()
        // The request may be sent before the task is suspended.
        paused.answer(paused.sameResource.delayed(until: gate))
        let session = paused.sandbox.session(witness)
        let task = session.downloadTask(withResumeData: paused.blob)
        if wasStarted {
            task.resume()
            task.suspend()
        }
        #expect(await task.cancelByProducingResumeData() == paused.blob)
        await witness.completion()
        session.invalidateAndCancel()
        gate.open()
        paused.answer(paused.sameResource)
        #expect(await paused.resume().resumedAt == [100_000])
    }
}

@Suite("Pausing and resuming a download many times", .timeLimit(.minutes(3)))
struct RepeatedPauseTests {
    private let sandbox = Sandbox()
    private let content = GeneratedContent(size: 1_020_000, seed: 11)
    private let step = 20_000

    /// - Parameter waits: The next task is made after the completion of the one before; otherwise as soon as its
    ///   resume data is there.
    @Test("Fifty pauses give the whole file and leave no partial file", arguments: [true, false])
    func fiftyPauses(waits: Bool) async throws {
        let step = step
        let server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: step, times: 50))
        let witness = Witness()
        let session = sandbox.session(witness)
        var task = session.downloadTask(with: server.url("/file"))
        for pause in 1...50 {
            task.resume()
            await witness.wait { events in
                events.count { if case .wrote(let total, _) = $0 { total % Int64(step) == 0 } else { false } } >= pause
            }
            let blob = try #require(await task.cancelByProducingResumeData())
            if waits { await witness.completion(of: pause) }
            task = session.downloadTask(withResumeData: blob)
        }
        task.resume()
        await witness.completion(of: 51)
        #expect(witness.file(of: task) == content.data)
        #expect(witness.error(of: task) == nil)
        let requests = server.requests
        #expect(requests.map { $0.fields["Range"] } == [nil] + (1...50).map { "bytes=\($0 * step)-" })
        #expect(requests.dropFirst().allSatisfy { $0.fields["If-Range"] == "\"v1\"" })
        #expect(requests.map(\.bytesSent) == Array(repeating: step, count: 51))
        let offsets = witness.events.compactMap { if case .resumed(let offset, _) = $0 { offset } else { nil } }
        #expect(offsets == (1...50).map { Int64($0 * step) })
        #expect(sandbox.partialNames == [])
    }
}
