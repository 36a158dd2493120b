import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Downloads of a background session after a relaunch", .timeLimit(.minutes(5)))
struct RelaunchTests {
    private let home = BackgroundHome()
    private let witness = Witness()
    private let total = Int64(KilledDownload.content.size)

    @Test("A download of a killed process is listed, then fails with usable resume data")
    func download() async throws {
        let killed = try await KilledDownload(prepare: { $0.taskDescription = "the film" })
        let launch = await Launch(killed.home)
        let task = try #require(launch.downloads.first)
        #expect(launch.tasks.count == 1)
        #expect(task.taskIdentifier == 1)
        #expect(task.taskDescription == "the film")
        #expect(task.originalRequest?.url == killed.server.url(KilledDownload.path))
        #expect(task.countOfBytesReceived > 0)
        #expect(task.countOfBytesExpectedToReceive == total)
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        #expect(task.state == .completed)
        let error = try #require(launch.witness.error(of: task))
        #expect(error.backgroundTaskCancelledReason == .userForceQuitApplication)
        #expect(error.userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int == 0)
        expectError(error, .cancelled, about: killed.server.url(KilledDownload.path))
        let blob = try #require(error.downloadTaskResumeData)
        #expect(error.userInfo[NSURLSessionDownloadTaskResumeData] as? Data == blob)
        let record = try #require(ResumeRecord(blob))
        #expect(record.bytesReceived == task.countOfBytesReceived)
        let validator = try #require(record.validator)
        #expect("\(record)" == "\(record.url): \(record.bytesReceived) of \(total) bytes, \(validator)")
        let next = launch.session.downloadTask(withResumeData: blob).resumed()
        await launch.witness.completion(of: 2)
        #expect(launch.witness.hasFile(of: next, KilledDownload.content))
        #expect(killed.ranges == ["bytes=\(task.countOfBytesReceived)-"])
        #expect(
            launch.witness.events.dropFirst(2) == [
                .resumed(at: task.countOfBytesReceived, of: total), .wrote(total, of: total), .file(Int(total)),
                .completed(nil),
            ])
        await launch.end()
        #expect(killed.home.partialNames == [])
    }

    @Test("A trace shows the last call about a download of the process before")
    func trace() async throws {
        let killed = try await KilledDownload()
        let trace = TransferTrace()
        let session = killed.home.makeSession(witness) { $0.trace = trace }
        await witness.wait { $0.contains(.eventsFinished) }
        let calls = trace.events.compactMap { event -> TransferTrace.DelegateMethod? in
            guard case .began(let call) = event.kind, event.task == 1 else { return nil }
            return call.method
        }
        #expect(calls == [.didComplete])
        #expect(trace.events.contains { if case .completed(.some) = $0.kind { $0.task == 1 } else { false } })
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
    }

    @Test("A partial file without resume data is removed", arguments: [false, true])
    func begunFile(continuing: Bool) async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let content = GeneratedContent(size: 4_000, seed: 3)
        let url = server.route(
            "/film", .generated(content).stalled(afterBytes: 1_000, until: gate))
        let session = home.makeSession(witness)
        session.downloadTask(with: url).resume()
        await witness.wait { $0.contains { if case .wrote = $0 { true } else { false } } }
        let after = try home.afterCrash()
        #expect(after.partialNames.count == 1)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        gate.open()
        let launch = await Launch(after, continuing: continuing)
        let events = await launch.events()
        #expect(events.contains(.completed(continuing ? nil : .cancelled)))
        await launch.end()
        #expect(after.partialNames == [])
    }

    @Test("A session that has been asked for its tasks and is invalid is released, however long it would have waited")
    func released() async throws {
        let killed = try await KilledDownload()
        weak var session: URLSession?
        do {
            let launch = await Launch(killed.home)
            session = launch.session
            _ = await launch.events()
            await launch.end()
        }
        await NetworkThread.settle { session == nil }
        #expect(session == nil)
    }

    @Test("Every task list shows the download, each time it is asked")
    func lists() async throws {
        let killed = try await KilledDownload()
        let session = killed.home.makeSession(witness) { $0.graceClock = ManualClock() }
        let lists = await withCheckedContinuation { continuation in
            session.getTasksWithCompletionHandler { continuation.resume(returning: ($0, $1, $2)) }
        }
        #expect(lists.0 == [] && lists.1 == [])
        #expect(lists.2.map(\.taskIdentifier) == [1])
        await witness.wait { $0.contains(.eventsFinished) }
        #expect(await session.allTasks == [])
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        #expect(witness.events == [.completed(.cancelled), .eventsFinished, .invalid])
    }

    @Test("The delegate is called without a request for the task list", arguments: [false, true])
    func unasked(continuing: Bool) async throws {
        let killed = try await KilledDownload()
        let session = killed.home.makeSession(witness) { $0.continuesDownloadsAfterRelaunch = continuing }
        await witness.wait { $0.contains(.eventsFinished) }
        #expect(witness.events.suffix(2) == [.completed(continuing ? nil : .cancelled), .eventsFinished])
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
    }

    @Test("The request has the same URL, method, fields and body")
    func request() async throws {
        var made = URLRequest(url: URL(fileURLWithPath: "/"))
        let killed = try await KilledDownload(request: { url in
            made = URLRequest(url: url, timeoutInterval: 77.5)
            made.setValue("de, en;q=0.5", forHTTPHeaderField: "Accept-Language")
            made.setValue("Grüße \"\\/", forHTTPHeaderField: "X-Note")
            return made
        })
        let launch = await Launch(killed.home)
        let request = try #require(launch.tasks.first?.originalRequest)
        #expect(request == made)
        #expect(launch.tasks.first?.currentRequest?.url == made.url)
    }

    @Test(
        "Every timeoutInterval is kept, infinite ones included",
        arguments: [Double.infinity, .greatestFiniteMagnitude, 0, -1, .nan])
    func timeoutInterval(seconds: Double) async throws {
        let killed = try await KilledDownload(request: { URLRequest(url: $0, timeoutInterval: seconds) })
        let launch = await Launch(killed.home)
        let found = try #require(launch.tasks.first?.originalRequest?.timeoutInterval)
        #expect(found == seconds || (found.isNaN && seconds.isNaN))
    }

    @Test("The request's other options are kept")
    func requestOptions() async throws {
        let killed = try await KilledDownload(request: { url in
            var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
            request.allowsCellularAccess = false
            request.networkServiceType = .background
            return request
        })
        let launch = await Launch(killed.home)
        let request = try #require(launch.tasks.first?.originalRequest)
        #expect(request.cachePolicy == .reloadIgnoringLocalCacheData)
        #expect(!request.allowsCellularAccess)
        #expect(request.networkServiceType == .background)
    }

    @Test("currentRequest is the last one of the redirects")
    func currentRequest() async throws {
        let killed = try await KilledDownload(startingAt: "/start")
        let launch = await Launch(killed.home)
        let task = try #require(launch.tasks.first)
        #expect(task.originalRequest?.url == killed.server.url("/start"))
        #expect(task.currentRequest?.url == killed.server.url(KilledDownload.path))
    }

    @Test("Changes to a task's description and options are kept")
    func changes() async throws {
        let killed = try await KilledDownload(
            prepare: { task in
                task.taskDescription = "first"
                task.countOfBytesClientExpectsToSend = 200
            },
            finally: { task in
                task.taskDescription = "second, with \"quotes\",\nlines and ü"
                task.priority = URLSessionTask.highPriority
                task.countOfBytesClientExpectsToReceive = 300
            })
        let launch = await Launch(killed.home)
        #expect(launch.tasks.first?.taskDescription == "second, with \"quotes\",\nlines and ü")
        #expect(launch.tasks.first?.priority == URLSessionTask.highPriority)
        #expect(launch.tasks.first?.countOfBytesClientExpectsToSend == 200)
        #expect(launch.tasks.first?.countOfBytesClientExpectsToReceive == 300)
    }

    @Test("A removed taskDescription stays removed")
    func removedDescription() async throws {
        let killed = try await KilledDownload(
            prepare: { $0.taskDescription = "first" }, finally: { $0.taskDescription = nil })
        let launch = await Launch(killed.home)
        #expect(launch.tasks.first?.taskDescription == nil)
    }

    @Test("A download without resume data fails after a relaunch", arguments: [1000, 1_000_000])
    func noResumeData(count: Int) async throws {
        let killed = try await KilledDownload(at: count, reply: { $0 })
        let launch = await Launch(killed.home)
        let task = try #require(launch.tasks.first)
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        #expect(launch.witness.error(of: task)?.backgroundTaskCancelledReason == .userForceQuitApplication)
        #expect(launch.witness.error(of: task)?.downloadTaskResumeData == nil)
    }

    @Test("A task that was never resumed is listed after a relaunch")
    func neverResumed() async throws {
        let session = home.makeSession()
        let task = session.downloadTask(with: URL(string: "http://127.0.0.1:9/file") ?? home.folder)
        task.taskDescription = "later"
        let launch = await Launch(try home.afterCrash())
        #expect(launch.tasks.map(\.taskDescription) == ["later"])
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
    }

    @Test("A task that completed after a relaunch is not listed by the next one")
    func nextLaunch() async throws {
        let killed = try await KilledDownload()
        let first = await Launch(killed.home)
        _ = await first.events()
        let after = try killed.home.afterCrash(named: "after the second")
        await first.end()
        for home in [killed.home, after] {
            let launch = await Launch(home)
            #expect(launch.tasks == [])
            #expect(await launch.eventsUntilInvalid() == [.invalid])
        }
    }

    @Test(
        "A process that is killed before the completion leaves the task to the next relaunch", arguments: [false, true])
    func killedAgain(inTheCall: Bool) async throws {
        let killed = try await KilledDownload()
        let received: Int64
        let after: BackgroundHome
        if inTheCall {
            let home = killed.home
            let launch = await Launch(home) { _, event in
                if event == .completed(.cancelled) { home.copyAfterCrash(named: "again") }
            }
            received = launch.tasks.first?.countOfBytesReceived ?? 0
            _ = await launch.events()
            after = BackgroundHome(in: home.sandbox, named: "again")
            await launch.end()
        } else {
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            queue.isSuspended = true
            let session = URLSession(configuration: killed.home.configuration(), delegate: nil, delegateQueue: queue)
            after = try killed.home.afterCrash(named: "again")
            received = -1
            queue.isSuspended = false
            session.invalidateAndCancel()
        }
        let launch = await Launch(after)
        let task = try #require(launch.tasks.first)
        if inTheCall { #expect(task.countOfBytesReceived == received) }
        #expect(await launch.events() == [.completed(.cancelled), .eventsFinished])
        #expect(launch.witness.error(of: task)?.downloadTaskResumeData != nil)
    }

    @Test("A session that is invalidated at once still completes its tasks, once each", arguments: [false, true])
    func invalidated(cancelling: Bool) async throws {
        let killed = try await KilledDownload()
        let session = killed.home.makeSession(witness)
        if cancelling { session.invalidateAndCancel() } else { session.finishTasksAndInvalidate() }
        await witness.wait { $0.last == .invalid }
        #expect(witness.events == [.completed(.cancelled), .eventsFinished, .invalid])
    }
}
