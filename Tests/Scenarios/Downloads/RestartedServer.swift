import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A file of a server that is restarted, with another version each time, over every kind of bad luck that there is: the
    /// network's, the disk's, kills and losses of power. Half of the servers are secure ones.
    static let restartedServer = Scenario("restarted-server") { world in
        let dice = Dice(world.seed, "restarted-server")
        let film = Film(dice, size: dice.oneIn(4) ? (256 << 10)...(320 << 10) : 8_000...90_000)
        let server = dice.oneIn(2) ? world.secureServer("mirror.example") : world.server("mirror.example")
        let url = server.route(film.path, versions: [film.reply(0), film.reply(1)])
        world.chaos = dice.pick([
            [.network, .restarts], [.disk, .restarts], [.all, .restarts, .kills],
            [.all, .restarts, .kills, .powerLoss],
        ])
        let laptop = world.computer("laptop")
        let home = laptop.home
        try await laptop.run("player") {
            var configuration = DownloadConfiguration(in: home)
            configuration.connections = dice.pick([1, 4, .adaptive])
            configuration.connections.leastShare = 64 << 10
            configuration.retryPolicy.maximumRetries = 20
            let download = Downloader(url: url, configuration: configuration)
            try film.requireOneVersion(try await download.file(within: 100, in: world))
            await download.waitUntilIdle()
        }
        world.chaos = []
        try await laptop.requireNothingUnfinished(after: .init(powerLosses: 1))
        try Film.requireConditions(server.requests)
    }
}
