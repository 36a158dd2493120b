import Foundation
import Purl
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

    @Test func retryAfterAndCacheAgesFollowTheClock() throws {
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
