import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@Suite struct DeterminismTests {
    /// Cuts, retries, several tasks at once, a file and random identifiers.
    private static func report(_ seed: Seed) throws -> Simulation.Report {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let film = server.route("/film", .generated(size: 30_000).entityTag("\"v1\"").cut(afterBytes: 9_000))
            let page = server.route("/page", .text("page"))
            let session = URLSession(configuration: .default)
            async let first = session.data(from: page)
            async let second = session.data(from: server.url("/none"))
            _ = try? await session.download(from: film)
            _ = try await (first, second)
            session.finishTasksAndInvalidate()
        }
    }

    @Test(arguments: Seeds.some(10))
    func oneSeedMakesOneStory(seed: Seed) throws {
        let (first, second) = (try Self.report(seed), try Self.report(seed))
        #expect(first.digest == second.digest)
        #expect(first.story == second.story)
        #expect(!first.lines.isEmpty && !first.transfers.isEmpty)
    }

    @Test func otherSeedsMakeOtherStories() throws {
        let digests = try Set((1...10).map { try Self.report(Seed($0)).digest })
        #expect(digests.count == 10)
    }

    @Test func aSeedIsTheNumberInTheEnvironment() {
        let environment = ProcessInfo.processInfo.environment
        #expect(Seeds.some(3).count == 3 || environment["SEED"] != nil || environment["SEEDS"] != nil)
        #expect(Seed(17).description == "17")
    }
}
