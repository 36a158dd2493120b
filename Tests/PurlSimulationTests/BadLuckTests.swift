import Foundation
import Purl
import PurlDownloads
import PurlTesting
import Synchronization
import Testing

@testable import PurlSimulation

/// Each kind of bad luck by itself: it happens, and a program that tries again succeeds.
@Suite struct BadLuckTests {
    private static let content = GeneratedContent(size: 60_000, seed: 5)

    /// What a program loads that tries again until it has all, and the story.
    private static func load(_ seed: Seed, under chaos: World.Chaos) throws -> Simulation.Report {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route(
                "/film", .generated(content).entityTag("\"v1\"").acceptRanges("bytes"))
            world.chaos = chaos
            try await world.computer("laptop").run("player") {
                let session = URLSession(configuration: .default)
                var resumeData: Data?
                while true {
                    do {
                        let data = resumeData
                        let (file, _) =
                            if let data { try await session.download(resumeFrom: data) } else {
                                try await session.download(from: url)
                            }
                        #expect(try content.matches(fileAt: file))
                        break
                    } catch {
                        resumeData = (error as? URLError)?.downloadTaskResumeData
                        try await world.sleep(for: .seconds(1))
                    }
                }
                session.finishTasksAndInvalidate()
            }
        }
    }

    @Test(arguments: [
        (World.Chaos.partitions, "cut off"), (.halfOpen, "half open"), (.slowLinks, "are slow"),
        (.slowNames, "takes long"), (.restarts, "is restarted"), (.fullDisk, "is full for a while"),
        (.readErrors, "fails in"), (.slowDisk, "the disk is slow"), (.kills, "is killed"),
        (.powerLoss, "the power goes"),
    ])
    func everyKindHappensAndIsSurvived(kind: World.Chaos, words: String) throws {
        var count = 0
        for seed: UInt64 in 1...40 where count < 2 {
            // A connection that is reset has others follow, and what was loaded read again.
            let report = try Self.load(Seed(seed), under: kind.union(.resets))
            if report.lines.contains(where: { $0.contains("fault") && $0.contains(words) }) { count += 1 }
        }
        #expect(count == 2)
    }

    @Test(arguments: Seeds.some(15))
    func aFileNeverHasBytesOfTwoVersions(seed: Seed) throws {
        try Simulation(seed).run { world in
            let versions = (0..<3).map { GeneratedContent(size: 60_000 - 7_000 * $0, seed: UInt64($0)) }
            let url = world.server("mirror.example").route(
                "/film",
                versions: versions.enumerated().map { number, content in
                    .generated(content).entityTag("\"v\(number)\"").acceptRanges("bytes")
                })
            world.chaos = [.restarts, .resets, .stalls]
            var configuration = DownloadConfiguration()
            configuration.retryPolicy.maximumRetries = 30
            let downloader = Downloader(url: url, configuration: configuration)
            downloader.start()
            let file = try await downloader.file()
            #expect(try versions.contains { try $0.matches(fileAt: file) })
        }
    }

    @Test func damageAtRestChangesOnePage() throws {
        try Simulation(1).run { world in
            let laptop = world.computer("laptop")
            let file = laptop.home.appendingPathComponent("film")
            let before = GeneratedContent(size: 20_000).data
            try before.write(to: file)
            let range = try #require(laptop.damage(file))
            let after = try Data(contentsOf: file)
            #expect(after.count == before.count)
            for (offset, (old, new)) in zip(before, after).enumerated() {
                #expect((old != new) == range.contains(Int64(offset)))
            }
            #expect(laptop.damage(laptop.home.appendingPathComponent("none")) == nil)
        }
    }
}

/// `https` over the feigned security layer.
@Suite struct SecureServerTests {
    @Test(arguments: Seeds.some(8))
    func aSecureDownloadArrivesUnderFaults(seed: Seed) throws {
        try Simulation(seed).run { world in
            let content = GeneratedContent(size: 60_000, seed: 5)
            let url = world.secureServer("mirror.example").route(
                "/film", .generated(content).entityTag("\"v1\"").acceptRanges("bytes"))
            #expect(url.absoluteString == "https://mirror.example/film")
            world.chaos = .network
            var configuration = DownloadConfiguration()
            configuration.retryPolicy.maximumRetries = 30
            let downloader = Downloader(url: url, configuration: configuration)
            downloader.start()
            let file = try await downloader.file()
            #expect(try content.matches(fileAt: file))
        }
    }

    /// Each simulation has a thread of its own, and what the network thread has once for all connections is there as often.
    @Test func simulationsSideBySideDoNotMixTheirRecords() {
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            do {
                try Simulation(Seed(UInt64(number))).run { world in
                    let content = GeneratedContent(size: 300_000, seed: UInt64(number))
                    let url = world.secureServer("mirror.example").route("/film", .generated(content))
                    let (data, _) = try await URLSession.shared.data(from: url)
                    #expect(data == content.data)
                }
            } catch {
                Issue.record(error)
            }
        }
    }

    /// As a global actor is.
    private actor Journal {
        private(set) var count = 0

        func add() {
            for _ in 0..<20_000 { count &+= 1 }
        }
    }

    /// Whether it does any harm is a matter of chance; it is never worse than a failure that names it.
    @Test func anActorThatSimulationsShareIsNamedWhereTheyFail() {
        let journal = Journal()
        let others = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 100) { number in
            do {
                try Simulation(Seed(UInt64(number))).run { world in
                    for _ in 0..<20 {
                        await journal.add()
                        try await world.sleep(for: .seconds(1))
                    }
                }
            } catch {
                let words = (error as? SimulationFailure).map { "\($0.reason)" } ?? "\(error)"
                if !words.contains("an actor") { others.withLock { $0.append(words) } }
            }
        }
        #expect(others.withLock { $0 } == [])
    }

    /// On another thread the program may meet with it and end before the scheduler looks again.
    @Test func aRefusalThatTheProgramEndsWithIsTheReason() {
        let scheduler = Scheduler(1, limits: Simulation.Limits())
        scheduler.run {
            scheduler.refuseFromOutside("an actor")
            return true
        }
        guard case .refused("an actor")? = scheduler.failure else {
            Issue.record("\(String(describing: scheduler.failure))")
            return
        }
    }

    @Test func credentialsAreNotSentWhereASecureServerRedirectsToAnotherHost() throws {
        try Simulation(1).run { world in
            let (first, second) = (world.secureServer("first.example"), world.server("second.example"))
            let target = second.route("/there", .text("there"))
            var request = URLRequest(url: first.route("/here", .redirect(to: target.absoluteString)))
            request.setValue("Basic c2VjcmV0", forHTTPHeaderField: "Authorization")
            let (data, _) = try await URLSession.shared.data(for: request)
            #expect(data == Data("there".utf8))
            #expect(first.requests.map { $0.fields.values("Authorization") } == [["Basic c2VjcmV0"]])
            #expect(second.requests.map { $0.fields.values("Authorization") } == [[]])
        }
    }
}
