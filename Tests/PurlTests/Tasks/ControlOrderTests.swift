import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

/// The state that a thread reads must be the one that the task follows, whichever thread has set it.
@Suite("suspend and resume from two threads", .timeLimit(.minutes(1)))
struct ControlOrderTests {
    private let sandbox = Sandbox()

    enum Kind: CaseIterable, Sendable {
        case data, backgroundDownload
    }

    private static let count = 100

    /// A session and its tasks, all of which wait for their responses.
    private struct Stage {
        let server: LoopbackServer
        let gate = ServerGate()
        let home: BackgroundHome
        let witness = Witness()
        let session: URLSession
        let tasks: [URLSessionTask]

        init(_ kind: Kind) async throws {
            let server = try LoopbackServer()
            server.route("/file", .generated(size: 1_000).delayed(until: gate))
            self.server = server
            home = BackgroundHome()
            let url = server.url("/file")
            switch kind {
            case .data:
                let session = home.sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = count }
                self.session = session
                tasks = (0..<count).map { _ in session.dataTask(with: url) }
            case .backgroundDownload:
                let session = home.makeSession(witness) {
                    $0.httpMaximumConnectionsPerHost = count
                    $0.timeoutIntervalForRequest = 250
                }
                self.session = session
                tasks = (0..<count).map { _ in session.downloadTask(with: url) }
            }
            for task in tasks { task.resume() }
            await gate.reached(times: count)
        }

        /// Calls `first` for each task on one thread, and `second` on another as soon as the state shows the first call.
        func race(
            _ first: @escaping @Sendable (URLSessionTask) -> Void, shows state: URLSessionTask.State,
            _ second: @escaping @Sendable (URLSessionTask) -> Void
        ) async {
            await withTaskGroup { group in
                for task in tasks {
                    group.addTask { await onOwnThread { first(task) } }
                    group.addTask {
                        await onOwnThread {
                            while task.state != state, task.state != .completed { sched_yield() }
                            second(task)
                        }
                    }
                }
            }
        }

        /// Whether the journal has all tasks as running, or all as suspended.
        func journalShows(isRunning: Bool) throws -> Bool {
            let records = JournalText.records(in: try Data(contentsOf: home.journal))
            return tasks.allSatisfy { records[$0.taskIdentifier]?.isRunning == isRunning }
        }

        func expectCompletions() async {
            await witness.completion(of: count)
            #expect(witness.events.count { $0 == .completed(nil) } == count)
            session.invalidateAndCancel()
        }
    }

    @Test("A task that one thread suspends and another resumes completes", arguments: Kind.allCases)
    func resumedLast(_ kind: Kind) async throws {
        let stage = try await Stage(kind)
        await stage.race({ $0.suspend() }, shows: .suspended, { $0.resume() })
        #expect(stage.tasks.allSatisfy { $0.state == .running })
        if kind == .backgroundDownload { #expect(try stage.journalShows(isRunning: true)) }
        stage.gate.open()
        await stage.expectCompletions()
    }

    @Test("A task that one thread resumes and another suspends receives nothing", arguments: Kind.allCases)
    func suspendedLast(_ kind: Kind) async throws {
        let stage = try await Stage(kind)
        for task in stage.tasks { task.suspend() }
        await stage.race({ $0.resume() }, shows: .running, { $0.suspend() })
        if kind == .backgroundDownload { #expect(try stage.journalShows(isRunning: false)) }
        stage.gate.open()
        await stage.server.waitUntilIdle()
        let others = stage.home.sandbox.session()
        _ = try await others.data(from: stage.server.url("/nothing"))
        #expect(stage.witness.events == [])
        #expect(stage.tasks.allSatisfy { $0.state == .suspended })
        for task in stage.tasks { task.resume() }
        await stage.expectCompletions()
    }

    // MARK: Becoming a download

    /// A session whose data tasks become downloads, which have half of their body until the gate opens.
    private struct Becoming {
        let server: LoopbackServer
        let gate = ServerGate()
        let witness: Witness
        let session: URLSession

        /// - Parameter respond: Called when the delegate has the response, with the data task and the delegate's queue.
        init(in sandbox: Sandbox, _ respond: @escaping @Sendable (URLSessionTask, OperationQueue) -> Void) throws {
            server = try LoopbackServer()
            server.route("/file", .generated(size: 1_000).stalled(afterBytes: 500, until: gate))
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            witness = Witness(
                disposition: .becomeDownload,
                hook: { task, event in if case .response = event { respond(task, queue) } })
            session = sandbox.session(witness, queue: queue) { $0.httpMaximumConnectionsPerHost = count }
        }

        func start() -> URLSessionTask { session.dataTask(with: server.url("/file")).resumed() }

        /// The download, when the delegate has it.
        func download() async throws -> URLSessionTask {
            await witness.wait { $0.contains(.becameDownload) }
            return try #require(await session.allTasks.first)
        }
    }

    @Test("A data task that is suspended while it becomes a download leaves a suspended download")
    func becomingDownload() async throws {
        let becoming = try Becoming(in: sandbox) { task, queue in
            let isSuspended = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                task.suspend()
                isSuspended.signal()
            }
            // The next call comes later: calls to the data task count until its delegate has received the download.
            queue.addOperation { isSuspended.wait() }
        }
        let witness = becoming.witness
        for _ in 0..<Self.count { _ = becoming.start() }
        await witness.wait { events in events.count { $0 == .becameDownload } == Self.count }
        becoming.gate.open()
        await becoming.server.waitUntilIdle()
        _ = try await sandbox.session().data(from: becoming.server.url("/nothing"))
        let downloads = await becoming.session.allTasks
        #expect(downloads.count == Self.count)
        #expect(downloads.allSatisfy { $0 is URLSessionDownloadTask && $0.state == .suspended })
        for task in downloads { task.resume() }
        await witness.completion(of: Self.count)
        #expect(witness.events.count { $0 == .completed(nil) } == Self.count)
    }

    /// When a data task is called that becomes a download.
    enum Moment: CaseIterable {
        case inDidReceiveResponse
        /// It has become one, and its delegate does not know yet.
        case beforeDidBecome
    }

    enum Call {
        case suspend, resume

        func make(to task: URLSessionTask) {
            switch self {
            case .suspend: task.suspend()
            case .resume: task.resume()
            }
        }
    }

    @Test(
        "What was suspended through a data task is resumed through it, also when its delegate has the download",
        arguments: Moment.allCases,
        [
            ([.suspend], after: [.resume], .running),
            ([.suspend, .suspend], after: [.resume], .suspended),
            ([.suspend, .suspend], after: [.resume, .resume], .running),
            ([.suspend], after: [.suspend, .resume], .suspended),
            ([.suspend], after: [.suspend, .resume, .resume], .running),
            ([.suspend], after: [.resume, .suspend], .running),
            ([.suspend, .resume], after: [.suspend], .running),
            ([], after: [.suspend], .running),
        ] as [([Call], after: [Call], URLSessionTask.State)])
    func becomingDownload(_ moment: Moment, _ calls: ([Call], after: [Call], URLSessionTask.State)) async throws {
        let (before, after, state) = calls
        let becoming = try Becoming(in: sandbox) { task, queue in
            switch moment {
            case .inDidReceiveResponse: for call in before { call.make(to: task) }
            case .beforeDidBecome:
                queue.addOperation {
                    while !task.isOver { sched_yield() }
                    for call in before { call.make(to: task) }
                }
            }
        }
        let task = becoming.start()
        let download = try await becoming.download()
        for call in after { call.make(to: task) }
        #expect(download.state == state)
        becoming.gate.open()
        while download.state == .suspended { download.resume() }
        await becoming.witness.completion()
        #expect(becoming.witness.events.last == .completed(nil))
    }

    @Test("Before its delegate has the download, a data task shows it, and what is set goes to the download")
    func settingBecomingDownload() async throws {
        let own = Witness()
        let becoming = try Becoming(in: sandbox) { task, queue in
            queue.addOperation {
                while !task.isOver { sched_yield() }
                task.taskDescription = "a film"
                task.priority = URLSessionTask.highPriority
                task.countOfBytesClientExpectsToReceive = 2_000
                task.delegate = own
                #expect(task.taskDescription == "a film")
                #expect(task.state == .running)
                #expect(!task.progress.isFinished)
            }
        }
        _ = becoming.start()
        let download = try await becoming.download()
        #expect(download.taskDescription == "a film")
        #expect(download.priority == URLSessionTask.highPriority)
        #expect(download.countOfBytesClientExpectsToReceive == 2_000)
        #expect(download.delegate === own)
        becoming.gate.open()
        await own.completion()
        #expect(download.progress.isFinished)
    }
}
