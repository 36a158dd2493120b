import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A download over several connections that is paused just when a response arrives, and resumed at once: it is never in its
    /// own way.
    static let pausedConnections = Scenario("paused-connections") { world in
        let dice = Dice(world.seed, "paused-connections")
        let content = GeneratedContent(size: 3 << 20, seed: 3)
        world.network.latency = .milliseconds(1) ... .milliseconds(1)
        world.network.bytesPerSecond = 80_000_000
        let server = world.server("mirror.example")
        let answered = Notes(Duration.zero)
        let url = server.route(
            "/film",
            .computed { _ in
                answered.change { $0 = world.elapsed }
                return .generated(content).entityTag("\"v1\"")
            })
        let computer = world.computer("laptop")
        try await computer.run("center") {
            var configuration = DownloadConfiguration(in: computer.home)
            configuration.connections = 4
            configuration.connections.leastShare = 1 << 20
            let manager = DownloadManager(configuration: configuration)
            let download = manager.download(url)
            // Some pieces are whole by then, and are checked when it continues.
            while download.bytesReceived < 5 << 19 { try await world.sleep(for: .milliseconds(5)) }
            for _ in 0..<8 {
                download.pause()
                if dice.oneIn(4) { await download.waitUntilIdle() }
                download.resume()
                let count = server.requests.count
                for _ in 0..<60 where server.requests.count == count {
                    try await world.sleep(for: .microseconds(250))
                }
                // The response arrives a millisecond later, and what it gives to do takes some microseconds.
                let moment = answered.value + .nanoseconds(1_000_000 + dice.number(0...60_000))
                if moment > world.elapsed { try await world.sleep(for: moment - world.elapsed) }
            }
            try require(try content.matches(fileAt: try await download.file()), "another file")
            await manager.waitUntilIdle()
        }
        try await computer.requireNothingUnfinished(after: .none)
    }
}
