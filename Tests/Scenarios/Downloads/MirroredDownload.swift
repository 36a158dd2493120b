import Foundation
import Purl
import PurlDownloads
import PurlHTTP
import PurlSimulation
import PurlTesting

extension Scenario {
    /// One file of several servers, some of which have another one, or have it no longer: with kills and losses of power.
    static let mirroredDownload = Scenario("mirrored-download") { world in
        let dice = Dice(world.seed, "mirrored-download")
        // What is shorter is not divided.
        let size = dice.oneIn(3) ? dice.number((2 << 20)...(5 << 19)) : dice.number(1...100_000)
        let content = GeneratedContent(size: size, seed: 8)
        let wrong = GeneratedContent(size: size, seed: 9)
        let sha256 = SHA256.hexadecimal(of: content.data.bytes)
        world.network.latency = .microseconds(200) ... .milliseconds(dice.pick([2, 20, 200]))
        let right = dice.index(below: 3)
        // Bytes of two files in one, which the digest at the end finds, would be taken for a broken rule before.
        let isHonest = dice.oneIn(2)
        let urls = (0..<3).map { number in
            let server = world.server("mirror\(number).example")
            let tag = isHonest && dice.oneIn(2) ? "\"v\"" : "\"v\(number)\""
            let isRight = isHonest || number == right || dice.oneIn(2)
            let reply = Reply.generated(isRight ? content : wrong).entityTag(tag)
            let isGone = number != right && dice.oneIn(6)
            return server.route("/film", isGone ? .status(404) : dice.oneIn(6) ? reply.ignoringRange() : reply)
        }
        if dice.oneIn(2) { world.chaos = .network }
        let surprises = dice.pick([Computer.Surprises.none, .init(kills: 2), .init(powerLosses: 2)])
        let laptop = world.computer("laptop")
        let home = laptop.home
        try await laptop.run("player", surprises: surprises) {
            var configuration = DownloadConfiguration(in: home)
            configuration.connections = isHonest ? dice.pick([4, .adaptive]) : 1
            configuration.retryPolicy.maximumRetries = 20
            let manager = DownloadManager(configuration: configuration)
            let download = manager.download(urls[0], sha256: sha256, mirrors: Array(urls.dropFirst()))
            let file = try await download.file(within: 20, in: world)
            try require(try content.matches(fileAt: file), "the film is another one")
            await manager.waitUntilIdle()
        }
        try await laptop.requireNothingUnfinished(after: surprises)
    }
}
