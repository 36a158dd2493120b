import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The progress of a task", .timeLimit(.minutes(5)))
struct TaskProgressTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let gate = ServerGate()

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 100_000, seed: 1))
        server.route("/empty", .bytes(Data()))
        server.route("/chunked", .generated(size: 100_000).chunked())
        server.route("/stalled", .generated(size: 100_000).stalled(afterBytes: 25_000))
        return server
    }

    @Test("Progress is indeterminate before the response")
    func indeterminate() throws {
        let server = try makeServer()
        let session = sandbox.session()
        let task = session.dataTask(with: server.url("/file"))
        #expect(task.progress.isIndeterminate)
        #expect(task.progress.completedUnitCount == 0)
        #expect(task.progress.isCancellable)
        #expect(task.progress.isPausable)
        #expect(task.progress === task.progress)
    }

    @Test("Progress counts the bytes of a known length", arguments: [true, false])
    func knownLength(_ isAskedEarly: Bool) async throws {
        let server = try makeServer()
        server.route("/slow", .generated(size: 100_000).stalled(afterBytes: 25_000, until: gate))
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: server.url("/slow"))
        if isAskedEarly { #expect(task.progress.isIndeterminate) }
        task.resume()
        await witness.wait { $0.contains(.wrote(25_000, of: 100_000)) }
        #expect(task.progress.totalUnitCount == 100_000)
        #expect(task.progress.completedUnitCount == 25_000)
        #expect(task.progress.fractionCompleted == 0.25)
        #expect(!task.progress.isFinished)
        gate.open()
        await witness.completion()
        #expect(task.progress.fractionCompleted == 1)
        #expect(task.progress.isFinished)
    }

    @Test("Progress stays indeterminate without a length")
    func unknownLength() async throws {
        let server = try makeServer()
        server.route("/slow", .generated(size: 100_000).untilClose().stalled(afterBytes: 25_000, until: gate))
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: server.url("/slow"))
        let progress = task.progress
        task.resume()
        await witness.wait { $0.contains(.wrote(25_000, of: NSURLSessionTransferSizeUnknown)) }
        #expect(progress.isIndeterminate)
        #expect(progress.completedUnitCount == 25_000)
        gate.open()
        await witness.completion()
        #expect(progress.completedUnitCount == 100_000)
    }

    @Test("Progress is finished when the task has succeeded", arguments: ["/file", "/chunked", "/empty", "/nothing"])
    func finished(_ path: String) async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        for task in [session.dataTask(with: server.url(path)), session.downloadTask(with: server.url(path))] {
            let before = witness.events.count
            let progress = task.progress
            task.resume()
            await witness.wait { $0.dropFirst(before).contains(.completed(nil)) }
            #expect(progress.isFinished)
            #expect(progress.fractionCompleted == 1)
        }
    }

    @Test("Progress counts in a parent progress", arguments: ["/file", "/chunked"])
    func parent(_ path: String) async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let parent = Progress(totalUnitCount: 4)
        let first = session.downloadTask(with: server.url(path))
        let second = session.downloadTask(with: server.url(path))
        parent.addChild(first.progress, withPendingUnitCount: 1)
        parent.addChild(second.progress, withPendingUnitCount: 3)
        first.resume()
        await witness.completion()
        #expect(parent.fractionCompleted == 0.25)
        second.resume()
        await witness.completion(of: 2)
        #expect(parent.fractionCompleted == 1)
        #expect(parent.isFinished)
    }

    @Test("Cancelling the progress cancels the task")
    func cancelling() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.downloadTask(with: server.url("/stalled"))
        let parent = Progress(totalUnitCount: 1)
        parent.addChild(task.progress, withPendingUnitCount: 1)
        task.resume()
        await witness.wait { $0.contains(.wrote(25_000, of: 100_000)) }
        parent.cancel()
        await witness.completion()
        #expect(task.progress.isCancelled)
        #expect(witness.events == [.wrote(25_000, of: 100_000), .completed(.cancelled)])
        #expect(sandbox.partialNames == [])
    }

    @Test("Pausing the progress suspends the task, and resuming it resumes the task")
    func pausing() async throws {
        let server = try makeServer()
        server.route("/slow", .generated(size: 100_000).stalled(afterBytes: 25_000, until: gate))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/slow"))
        let progress = task.progress
        task.resume()
        await witness.wait { $0.contains(.data(25_000)) }
        let isPaused = Signal()
        progress.pausingHandler = { [pause = progress.pausingHandler] in
            pause?()
            isPaused.set()
        }
        progress.pause()
        await isPaused.wait()
        #expect(task.state == .suspended)
        gate.open()
        await server.waitUntilIdle()
        _ = try await session.data(from: server.url("/file"))
        #expect(progress.isPaused)
        #expect(witness.events == [.response(200), .data(25_000)])
        progress.resume()
        await witness.completion()
        #expect(witness.events == [.response(200), .data(100_000), .completed(nil)])
        #expect(progress.fractionCompleted == 1)
    }

    @Test("A task is suspended once while its progress is paused, however often and in whatever order that is reported")
    func reports() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/stalled")).resumed()
        let progress = task.progress
        // Foundation calls them on threads of its own.
        let pause = try #require(progress.pausingHandler)
        let resume = try #require(progress.resumingHandler)
        (progress.pausingHandler, progress.resumingHandler) = (nil, nil)
        resume()
        pause()
        #expect(task.state == .running)
        progress.pause()
        pause()
        pause()
        #expect(task.state == .suspended)
        progress.resume()
        resume()
        #expect(task.state == .running)
        task.suspend()
        progress.resume()
        resume()
        #expect(task.state == .suspended, "the program has suspended it")
        task.cancel()
        await witness.completion()
    }

    @Test(
        "The progress of a task that is over is finished, also when it is asked for then",
        arguments: ["/file", "/empty", "/chunked", "/none"])
    func askedLate(path: String) async throws {
        let server = try makeServer()
        server.route("/none", .status(204))
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url(path)).resumed()
        await witness.completion()
        let parent = Progress(totalUnitCount: 1)
        parent.addChild(task.progress, withPendingUnitCount: 1)
        #expect(task.progress.isFinished && !task.progress.isIndeterminate)
        #expect(task.progress.completedUnitCount == max(1, task.countOfBytesReceived))
        #expect(parent.isFinished)
    }

    @Test("The progress of a task that has failed is not finished when it is asked for then")
    func askedAfterFailure() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/stalled")).resumed()
        await witness.wait { $0.contains(.data(25_000)) }
        task.cancel()
        await witness.completion()
        #expect(!task.progress.isFinished)
        #expect(task.progress.completedUnitCount == 25_000)
    }

    @Test("A progress that outlives its task has no effect and keeps no object alive")
    func outliving() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        weak var weakTask: URLSessionTask?
        let progress: Progress
        do {
            let task = session.dataTask(with: server.url("/file"))
            weakTask = task
            progress = task.progress
            task.resume()
            await witness.completion()
        }
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        _ = try await session.data(from: server.url("/file"))
        #expect(weakTask == nil)
        progress.pause()
        progress.resume()
        progress.cancel()
        #expect(witness.events == [.response(200), .data(100_000), .completed(nil)])
    }

    @Test("A data task's progress continues with the download it becomes")
    func becomesDownload() async throws {
        let server = try makeServer()
        let witness = Witness(disposition: .becomeDownload)
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/file"))
        let progress = task.progress
        task.resume()
        await witness.completion()
        #expect(progress.completedUnitCount == 100_000)
        #expect(progress.isFinished)
    }

    @Test("A download whose data task's progress was paused waits until the progress is resumed")
    func becomesDownloadPaused() async throws {
        let server = try makeServer()
        server.route("/slow", .generated(size: 100_000).stalled(afterBytes: 25_000, until: gate))
        let progress = Mutex<Progress?>(nil)
        let witness = Witness(
            disposition: .becomeDownload,
            hook: { _, event in if case .response = event { progress.withLock { $0 }?.pause() } })
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/slow"))
        progress.withLock { $0 = task.progress }
        task.resume()
        await witness.wait { $0.contains(.becameDownload) }
        let download = try #require(await session.allTasks.first)
        #expect(download.state == .suspended)
        // The program has not suspended the data task: this call takes nothing back.
        task.resume()
        #expect(download.state == .suspended)
        gate.open()
        progress.withLock { $0 }?.resume()
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
    }
}
