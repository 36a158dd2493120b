import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting
import Testing

/// What a program does that takes care, under any bad luck.
@Suite struct ChaosTests {
    private static let content = GeneratedContent(size: 60_000, seed: 5)

    private static func serveFilm(in world: World) -> URL {
        world.server("mirror.example").route(
            "/film", .generated(content).entityTag("\"v1\"").acceptRanges("bytes"))
    }

    @Test(arguments: Seeds.some(15))
    func aDownloadThatIsResumedArrives(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = Self.serveFilm(in: world)
            world.chaos = .network
            let session = URLSession(configuration: .ephemeral)
            var resumeData: Data?
            while true {
                do {
                    let data = resumeData
                    let (file, _) =
                        if let data { try await session.download(resumeFrom: data) } else {
                            try await session.download(from: url)
                        }
                    #expect(try Self.content.matches(fileAt: file))
                    return
                } catch {
                    resumeData = (error as? URLError)?.downloadTaskResumeData
                    try await world.sleep(for: .seconds(1))
                }
            }
        }
    }

    @Test(arguments: Seeds.some(15))
    func aDownloaderArrivesUnderKillsAndNetworkFaults(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = Self.serveFilm(in: world)
            world.chaos = .network
            try await world.computer("laptop").run("player", surprises: .init(kills: 2)) {
                var configuration = DownloadConfiguration()
                configuration.retryPolicy.maximumRetries = 20
                let downloader = Downloader(url: url, configuration: configuration)
                downloader.start()
                let file = try await downloader.file()
                #expect(try Self.content.matches(fileAt: file))
            }
        }
    }

    @Test(arguments: Seeds.some(8))
    func aFullDiskFailsADownloadAndNothingElse(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = Self.serveFilm(in: world)
            world.chaos = .diskErrors
            let session = URLSession(configuration: .ephemeral)
            while true {
                do {
                    let (file, _) = try await session.download(from: url)
                    #expect(try Self.content.matches(fileAt: file))
                    return
                } catch {
                    let code = (error as? URLError)?.code
                    #expect(
                        code == .cannotWriteToFile || code == .cannotCreateFile || code == .cannotOpenFile
                            || code == .cannotMoveFile, "\(error)")
                }
            }
        }
    }

    @Test(arguments: Seeds.some(15))
    func anInvalidatedSessionCompletesEveryTaskOnce(seed: Seed) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let urls = (0..<4).map {
                server.route("/\($0)", .generated(size: 9_000).field("Cache-Control", "max-age=60"))
            }
            world.chaos = .network
            let session = URLSession(configuration: .default)
            let results = urls.map { url in Task { try await session.data(from: url).0.count } }
            try await world.sleep(for: .milliseconds(Int64(seed.value * 7 % 400)))
            session.invalidateAndCancel()
            for result in results {
                switch await result.result {
                case .success(let count): #expect(count == 9_000)
                case .failure(let error): #expect(error is URLError, "\(error)")
                }
            }
        }
    }

    @Test(arguments: Seeds.some(8))
    func redirectsAndCredentialsStayRightUnderFaults(seed: Seed) throws {
        try Simulation(seed).run { world in
            let (first, second) = (world.server("first.example"), world.server("second.example"))
            let target = second.route("/there", .text("there"))
            let url = first.route("/here", .redirect(to: target.absoluteString))
            world.chaos = .network
            var request = URLRequest(url: url)
            request.setValue("Basic c2VjcmV0", forHTTPHeaderField: "Authorization")
            while true {
                guard let (data, _) = try? await URLSession.shared.data(for: request) else {
                    try await world.sleep(for: .seconds(1))
                    continue
                }
                #expect(data == Data("there".utf8))
                #expect(first.requests.allSatisfy { $0.fields.values("Authorization") == ["Basic c2VjcmV0"] })
                #expect(second.requests.allSatisfy { $0.fields.values("Authorization").isEmpty })
                return
            }
        }
    }

    @Test(arguments: Seeds.some(8))
    func aWebSocketCarriesItsMessagesInOrder(seed: Seed) throws {
        try Simulation(seed).run { world in
            world.server("chat.example").route("/chat", .webSocket(.echo))
            let url = try #require(URL(string: "ws://chat.example/chat"))
            let task = URLSession.shared.webSocketTask(with: url)
            task.resume()
            for number in 0..<20 { try await task.send(.string("message \(number)")) }
            for number in 0..<20 {
                guard case .string(let text) = try await task.receive() else {
                    Issue.record("a text comes back as text")
                    return
                }
                #expect(text == "message \(number)")
            }
            task.cancel(with: .normalClosure, reason: nil)
        }
    }

    private struct Lost: Error {}

    /// A program that gives up when a connection is lost.
    private static func loadOften(in world: World) async throws {
        let url = serveFilm(in: world)
        world.chaos = .network
        for _ in 0..<20 {
            do {
                _ = try await URLSession.shared.data(from: url)
            } catch {
                if (error as? URLError)?.code == .networkConnectionLost { throw Lost() }
            }
        }
    }

    private static func failure(of simulation: Simulation) -> SimulationFailure? {
        do {
            try simulation.run { world in try await loadOften(in: world) }
            return nil
        } catch {
            return error
        }
    }

    @Test func theShortestListOfFaultsIsFoundAndReplayed() throws {
        var failures: [SimulationFailure] = []
        for seed: UInt64 in 1...30 {
            var simulation = Simulation(Seed(seed))
            simulation.shortensFailures = false
            if let failure = Self.failure(of: simulation) { failures.append(failure) }
        }
        let failure = try #require(failures.first { $0.faults.count > 2 })
        let simulation = Simulation(failure.seed)
        let shortest = try #require(simulation.shortestFailure { world in try await Self.loadOften(in: world) })
        #expect(shortest.faults.count < failure.faults.count)
        #expect(shortest.description.contains("without the faults"))
        guard case .thrown(let error) = shortest.reason else {
            Issue.record(shortest)
            return
        }
        #expect(error is Lost)
        var replay = Simulation(shortest.seed)
        replay.leftOutFaults = Set(shortest.leftOutFaults)
        replay.shortensFailures = false
        let again = try #require(Self.failure(of: replay))
        #expect(again.report.story == shortest.report.story)
    }
}
