import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

@Suite struct SimulatedClockTests {
    @Test func aDayTakesNoTime() throws {
        let report = try Simulation(1).run { world in
            let before = world.date
            try await world.sleep(for: .seconds(86_400))
            #expect(world.date.timeIntervalSince(before) >= 86_400)
        }
        #expect(report.duration >= .seconds(86_400) && report.duration < .seconds(86_401))
        #expect(report.steps < 20)
    }

    @Test(arguments: [1e9, 1e18])
    func aSleepThatIsLongerThanTheSimulationMayTakeEndsIt(seconds: Double) {
        let failure = #expect(throws: SimulationFailure.self) {
            try Simulation(1).run { world in try await world.sleep(for: .seconds(seconds)) }
        }
        #expect(failure.map { "\($0.reason)".hasPrefix("the program does not end") } == true)
    }

    @Test(arguments: Seeds.some(5))
    func aShorterTimeOutOfARedirectCountsAtOnce(seed: Seed) throws {
        final class Impatient: NSObject, URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) {
                var request = request
                request.timeoutInterval = 5
                completionHandler(request)
            }
        }
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            server.route("/slow", .generated(size: 1_000).stalled(afterBytes: 10))
            let url = server.route("/start", .redirect(to: "/slow"))
            let error = await #expect(throws: URLError.self) {
                try await URLSession.shared.data(from: url, delegate: Impatient())
            }
            #expect(error?.code == .timedOut)
            #expect(world.elapsed < .seconds(7))
        }
    }

    @Test func aSleepIsCancelledWithItsTask() throws {
        let report = try Simulation(1).run { world in
            let sleeper = Task { try await world.sleep(for: .seconds(86_400)) }
            try await world.sleep(for: .seconds(1))
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
        #expect(report.duration < .seconds(2))
    }

    /// A program as others write it: it is given its clock.
    @Sendable private static func attempts(
        _ body: @escaping @Sendable () -> Bool, clock: some Clock<Duration>, pause: Duration
    ) async throws -> Int {
        var count = 1
        while !body() {
            try await clock.sleep(for: pause)
            count += 1
        }
        return count
    }

    @Test(arguments: Seeds.some(5))
    func aProgramThatIsGivenItsClockWaitsOnTheSimulatedOne(seed: Seed) throws {
        try Simulation(seed).run { world in
            let clock = world.clock
            let start = clock.now
            let attempts = try await Self.attempts(
                { world.elapsed >= .seconds(86_400) }, clock: clock, pause: .seconds(3_600))
            #expect(attempts == 25)
            #expect(start.duration(to: clock.now) >= .seconds(86_400))
            let day = try await clock.measure { try await Task.sleep(for: .seconds(86_400), clock: clock) }
            #expect(day >= .seconds(86_400) && day < .seconds(86_401))
        }
    }

    @Test func aMomentThatIsOverIsNotWaitedFor() throws {
        try Simulation(1).run { world in
            let clock = world.clock
            let before = clock.now
            try await world.sleep(for: .seconds(5))
            let now = clock.now
            try await clock.sleep(until: before)
            #expect(now.duration(to: clock.now) < .seconds(1) && before < now)
        }
    }

    @Test func aSleepOnTheClockIsCancelledWithItsTask() throws {
        let report = try Simulation(1).run { world in
            let clock = world.clock
            let first = try await withThrowingTaskGroup(of: String.self) { group in
                group.addTask {
                    try await clock.sleep(for: .seconds(86_400))
                    return "late"
                }
                group.addTask {
                    try await clock.sleep(for: .seconds(30))
                    return "early"
                }
                defer { group.cancelAll() }
                return try await group.next()
            }
            #expect(first == "early")
        }
        #expect(report.duration >= .seconds(30) && report.duration < .seconds(31))
    }

    @Test func aProgramThatIsGivenItsGeneratorDrawsWhatTheSeedDecides() throws {
        func numbers(_ seed: Seed) throws -> [Int] {
            let drawn = Mutex<[Int]>([])
            try Simulation(seed).run { world in
                var generator = world.randomNumberGenerator
                for _ in 0..<20 {
                    let number = Int.random(in: 0..<1_000_000, using: &generator)
                    drawn.withLock { $0.append(number) }
                }
            }
            return drawn.withLock { $0 }
        }
        let first = try numbers(1)
        #expect(try numbers(1) == first)
        #expect(try numbers(2) != first)
        #expect(Set(first).count > 10)
    }

    @Test(arguments: Seeds.some(5))
    func aRequestTimesOut(seed: Seed) throws {
        let report = try Simulation(seed).run { world in
            let url = world.server("mirror.example").route(
                "/deaf", .text("never").stalled(at: .beforeHead, until: ServerGate()))
            var request = URLRequest(url: url)
            request.timeoutInterval = 600
            await #expect { try await URLSession.shared.data(for: request) } throws: { error in
                (error as? URLError)?.code == .timedOut
            }
        }
        #expect(report.duration >= .seconds(600) && report.duration < .seconds(605))
    }

    @Test(arguments: Seeds.some(5))
    func retryAfterIsWaitedForOnTheClock(seed: Seed) throws {
        let report = try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let busy = Reply.status(503).field("Retry-After", "1800")
            let url = server.route("/film", .sequence([busy, .generated(size: 5_000).entityTag("\"v1\"")]))
            let downloader = Downloader(url: url, configuration: DownloadConfiguration())
            downloader.start()
            let file = try await downloader.file()
            #expect(try GeneratedContent(size: 5_000).matches(fileAt: file))
            #expect(server.requests.count == 2)
        }
        // A tenth may be added, so that not all clients come back at once.
        #expect(report.duration >= .seconds(1_800) && report.duration < .seconds(2_000))
    }

    @Test func backOffsGrowOnTheClock() throws {
        let report = try Simulation(3).run { world in
            let server = world.server("mirror.example")
            let url = server.route(
                "/film", .sequence([.status(503), .status(503), .status(503), .generated(size: 5_000)]))
            let downloader = Downloader(url: url, configuration: DownloadConfiguration())
            downloader.start()
            _ = try await downloader.file()
            #expect(server.requests.count == 4)
        }
        #expect(report.duration >= .seconds(6) && report.duration < .seconds(60))
    }

    @Test func earliestBeginDateIsOfTheSimulatedCalendar() throws {
        try Simulation(3).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/page", .text("page"))
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = 10
            let delegate = RecordingDelegate()
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            let task = session.dataTask(with: url)
            task.earliestBeginDate = world.date.addingTimeInterval(7_200)
            task.resume()
            await delegate.completion()
            #expect(delegate.error == nil && delegate.bytes == Data("page".utf8))
            #expect(world.elapsed >= .seconds(7_200) && world.elapsed < .seconds(7_210))
            session.finishTasksAndInvalidate()
        }
    }

    @Test func cookiesExpireByTheSimulatedCalendar() throws {
        try Simulation(3).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/page", .text("page").field("Set-Cookie", "visitor=one; Max-Age=3600"))
            let session = URLSession(configuration: .default)
            for pause in [0, 1_800, 3_700] as [Int64] {
                try await world.sleep(for: .seconds(pause))
                _ = try await session.data(from: url)
            }
            // Each response renews the cookie.
            #expect(server.requests.map { $0.fields.values("Cookie") } == [[], ["visitor=one"], []])
            session.finishTasksAndInvalidate()
        }
    }

    @Test func filesWereWrittenByTheSimulatedCalendar() throws {
        try Simulation(4).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/film", .generated(size: 20_000).entityTag("\"v1\""))
            let laptop = world.computer("laptop")
            let written = try await laptop.run("player") {
                let (file, _) = try await URLSession.shared.download(from: url)
                return try FileManager.default.attributesOfItem(atPath: file.path)[.modificationDate] as? Date
            }
            let age = try #require(written.map { world.date.timeIntervalSince($0) })
            #expect(age >= 0 && age < 60)
        }
    }

    @Test func cacheAgesFollowTheClock() throws {
        try Simulation(3).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/page", .text("page").field("Cache-Control", "max-age=3600"))
            let session = URLSession(configuration: .default)
            _ = try await session.data(from: url)
            _ = try await session.data(from: url)
            #expect(server.requests.count == 1)
            try await world.sleep(for: .seconds(3_601))
            _ = try await session.data(from: url)
            #expect(server.requests.count == 2)
        }
    }
}
