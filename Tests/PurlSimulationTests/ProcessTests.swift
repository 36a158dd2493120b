import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@Suite struct ProcessTests {
    @Test(arguments: Seeds.some(5))
    func eachProgramHasItsOwnCookies(seed: Seed) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/page", .text("page").field("Set-Cookie", "visitor=one"))
            try await world.computer("laptop").run("player") { _ = try await URLSession.shared.data(from: url) }
            try await world.computer("tablet").run("reader") { _ = try await URLSession.shared.data(from: url) }
            #expect(server.requests.count == 2)
            #expect(server.requests.allSatisfy { $0.fields.values("Cookie").isEmpty })
        }
    }

    @Test func programsRunAtTheSameTime() throws {
        try Simulation(2).run { world in
            let url = world.server("mirror.example").route("/page", .text("page"))
            async let first = world.computer("laptop").run("player") { try await URLSession.shared.data(from: url).0 }
            async let second = world.computer("tablet").run("reader") { try await URLSession.shared.data(from: url).0 }
            let both = try await (first, second)
            #expect(both.0 == both.1)
        }
    }

    @Test func theConnectionsOfAProgramThatEndsAreClosed() throws {
        try Simulation(2).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/page", .text("page"))
            try await world.computer("laptop").run("player") { _ = try await URLSession.shared.data(from: url) }
            await server.wait { $0.openConnections == 0 }
            #expect(server.record.acceptedConnections == 1)
        }
    }
}
