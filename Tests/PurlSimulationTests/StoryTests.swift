import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

/// What a failure shows.
@Suite struct StoryTests {
    private struct Lost: Error {}

    /// Fails when a connection is reset, whatever else happens.
    private static func loadOften(in world: World) async throws {
        let url = world.server("mirror.example").route("/page", .generated(size: 20_000))
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

    @Test func aFailureHasTheFewestFaultsAndReplays() throws {
        let failures = (1...30).compactMap { (seed: UInt64) in Self.failure(of: Simulation(Seed(seed))) }
        #expect(failures.count >= 5)
        // None of them can be left out.
        for failure in failures.prefix(5) {
            for fault in failure.faults {
                var simulation = Simulation(failure.seed)
                simulation.shortensFailures = false
                simulation.leftOutFaults = Set(failure.leftOutFaults + [fault])
                let other = Self.failure(of: simulation)
                #expect((other?.faults.count ?? .max) >= failure.faults.count)
            }
        }
        let failure = try #require(failures.first { !$0.leftOutFaults.isEmpty })
        var replay = Simulation(failure.seed)
        replay.leftOutFaults = Set(failure.leftOutFaults)
        replay.shortensFailures = false
        do {
            try replay.run { world in try await Self.loadOften(in: world) }
            Issue.record("it does not fail again")
        } catch {
            #expect(error.report.story == failure.report.story)
        }
    }

    @Test func theStoryNamesNoFolderOfTheRealMachine() throws {
        let report = try Simulation(3).run { world in
            world.note("the home is \(world.computer("laptop").home.path)")
        }
        #expect(report.lines.count == 1)
        #expect(report.lines[0].hasSuffix("program: the home is /laptop"))
    }

    @Test func thePictureHasALaneForEachProcessAndServer() throws {
        let report = try Simulation(3).run { world in
            let url = world.server("mirror.example").route("/page", .text("page"))
            world.note("a < \"b\" & c")
            try await world.computer("laptop").run("player") { _ = try await URLSession.shared.data(from: url) }
        }
        let picture = report.picture
        #expect(picture.hasPrefix("<svg"))
        for lane in ["laptop/player", "mirror.example"] {
            #expect(picture.contains("font-weight=\"bold\">\(lane)</text>"))
        }
        #expect(picture.contains("a &lt; &quot;b&quot; &amp; c") && !picture.contains("a < "))
        #expect(picture.components(separatedBy: "<circle").count - 1 == report.lines.count)
    }
}
