import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting
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

    @Test func aSleepIsCancelledWithItsTask() throws {
        let report = try Simulation(1).run { world in
            let sleeper = Task { try await world.sleep(for: .seconds(86_400)) }
            try await world.sleep(for: .seconds(1))
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
        #expect(report.duration < .seconds(2))
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
