import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@Suite struct SimulationTests {
    static let seeds = Seeds.some(10)

    @Test(arguments: seeds)
    func sharedSessionLoadsData(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", .generated(size: 20_000, seed: 3))
            let (data, response) = try await URLSession.shared.data(from: url)
            #expect(GeneratedContent(size: 20_000, seed: 3).data == data)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
    }

    @Test func printedReportSaysHowLongItWasAndWhatHappened() throws {
        let report = try Simulation(3).run { world in
            let url = world.server("mirror.example").route("/film", .generated(size: 20_000))
            _ = try await URLSession.shared.data(from: url)
        }
        #expect(!report.lines.isEmpty)
        #expect(
            "\(report)" == "\(report.steps) steps in \(report.duration), 0 faults\n"
                + report.lines.joined(separator: "\n"))
    }

    @Test(arguments: seeds)
    func delegateGetsItsCallsInOrder(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", .generated(size: 20_000))
            let delegate = RecordingDelegate()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            session.dataTask(with: url).resume()
            await delegate.completion()
            #expect(delegate.calls == ["response", "data", "completion"])
            #expect(delegate.bytes == GeneratedContent(size: 20_000).data)
        }
    }

    @Test(arguments: seeds)
    func downloadResumesAfterACut(seed: Seed) throws {
        try Simulation(seed).run { world in
            let content = GeneratedContent(size: 60_000)
            let server = world.server("mirror.example")
            let url = server.route(
                "/film", .generated(size: content.size).entityTag("\"v1\"").cut(afterBytes: 20_000, times: 1))
            let session = URLSession(configuration: .ephemeral)
            let resumeData: Data
            do {
                _ = try await session.download(from: url)
                Issue.record("the first response is cut")
                return
            } catch {
                #expect((error as? URLError)?.code == .networkConnectionLost)
                resumeData = try #require((error as? URLError)?.downloadTaskResumeData)
            }
            let (file, _) = try await session.download(resumeFrom: resumeData)
            #expect(try content.matches(fileAt: file))
            #expect(server.requests.map(\.status) == [200, 206])
        }
    }

    @Test(arguments: seeds)
    func downloadGivesItsFileToTheDelegate(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", .generated(size: 20_000))
            let delegate = RecordingDelegate()
            let session = URLSession(configuration: .default, delegate: delegate, delegateQueue: nil)
            session.downloadTask(with: url).resume()
            await delegate.completion()
            #expect(delegate.calls.suffix(2) == ["file", "completion"])
            #expect(delegate.file == GeneratedContent(size: 20_000).data)
        }
    }

    @Test(arguments: seeds)
    func uploadIsReadAtTheServersPace(seed: Seed) throws {
        try Simulation(seed).run { world in
            let content = GeneratedContent(size: 300_000).data
            let server = world.server("mirror.example")
            let url = server.route("/film", method: "PUT", .text("thanks"))
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            let (data, _) = try await URLSession.shared.upload(for: request, from: content)
            #expect(String(decoding: data, as: UTF8.self) == "thanks")
            #expect(server.requests.first?.body == content)
        }
    }

    @Test(arguments: seeds)
    func transfersShareTheNetwork(seed: Seed) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let urls = (0..<12).map { server.route("/\($0)", .generated(size: 3_000, seed: UInt64($0))) }
            let contents = try await withThrowingTaskGroup(of: (Int, Data).self) { group in
                for (number, url) in urls.enumerated() {
                    group.addTask { (number, try await URLSession.shared.data(from: url).0) }
                }
                return try await group.reduce(into: [Int: Data]()) { $0[$1.0] = $1.1 }
            }
            for number in urls.indices {
                #expect(contents[number] == GeneratedContent(size: 3_000, seed: UInt64(number)).data)
            }
            #expect(server.record.acceptedConnections <= 6)
        }
    }

    @Test func aHostWithoutServerIsNotFound() throws {
        try Simulation(1).run { world in
            _ = world.server("mirror.example")
            let url = try #require(URL(string: "http://elsewhere.example/"))
            await #expect { try await URLSession.shared.data(from: url) } throws: { error in
                (error as? URLError)?.code == .cannotFindHost
            }
        }
    }

    @Test func aServerThatHasStoppedRefusesConnectionsUntilItStarts() throws {
        try Simulation(1).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/", .text("here"))
            server.stop()
            await #expect { try await URLSession.shared.data(from: url) } throws: { error in
                (error as? URLError)?.code == .cannotConnectToHost
            }
            server.start()
            let (data, _) = try await URLSession.shared.data(from: url)
            #expect(data == Data("here".utf8))
        }
    }

    @Test func aServerThatIsStoppedWhileItRestartsStaysStopped() throws {
        try Simulation(1).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/page", .text("page"))
            server.restart(for: .seconds(1))
            server.restart(for: .seconds(10))
            try await world.sleep(for: .seconds(5))
            await #expect(throws: URLError.self) { try await URLSession.shared.data(from: url) }
            try await world.sleep(for: .seconds(10))
            _ = try await URLSession.shared.data(from: url)
            server.restart(for: .seconds(10))
            server.stop()
            try await world.sleep(for: .seconds(60))
            await #expect(throws: URLError.self) { try await URLSession.shared.data(from: url) }
            server.start()
            _ = try await URLSession.shared.data(from: url)
        }
    }

    @Test func theBandwidthChangesForTheConnectionsThatAreMadeThen() throws {
        try Simulation(1).run { world in
            let url = world.server("mirror.example").route("/film", .generated(size: 100_000))
            _ = try await URLSession(configuration: .ephemeral).data(from: url)
            world.network.bytesPerSecond = 10_000
            let start = world.clock.now
            let session = URLSession(configuration: .ephemeral)
            _ = try await session.data(from: url)
            #expect(start.duration(to: world.clock.now) >= .seconds(9))
            session.finishTasksAndInvalidate()
        }
    }
}
