import Foundation
import Purl
import PurlDownloads
import PurlSimulation
import PurlTesting

extension Scenario {
    /// A manager with ten files of two mirrors: killed, without power, paused, on a full disk.
    static let managedDownloads = Scenario("managed-downloads") { world in
        let dice = Dice(world.seed, "managed-downloads")
        let mirrors = [world.server("one.example"), world.server("two.example")]
        let films = (0..<10).map { Film(dice, path: "/film-\($0)", size: 500...20_000) }
        let urls = films.enumerated().map { number, film in
            film.serve(on: mirrors[number % 2], in: world, dice, changes: dice.oneIn(4))
        }
        let losesPower = dice.oneIn(2)
        world.chaos = dice.pick([[], .network, .network, .all])
        let laptop = world.computer("laptop")
        let home = laptop.home
        let finished = Notes<[Int: URL]>([:])
        let surprises = losesPower ? Computer.Surprises(kills: 1, powerLosses: 2) : .init(kills: 3)
        try await laptop.run("center", surprises: surprises) {
            for (number, file) in finished.value.sorted(by: { $0.key < $1.key }) {
                try require(FileManager.default.fileExists(atPath: file.path), "finished file \(number) is gone")
                try films[number].requireOneVersion(file)
            }
            // What an earlier process has sent may still be on its way.
            let accepted = mirrors.map(\.record.acceptedConnections)
            let known = Set(finished.value.keys)
            var configuration = DownloadConfiguration(in: home)
            configuration.maximumConcurrentDownloads = 3
            configuration.retryPolicy.maximumRetries = 20
            let manager = DownloadManager(configuration: configuration)
            manager.resumeAll()
            let downloads = urls.map { manager.download($0) }
            let acts = Task {
                for _ in 0..<dice.index(below: 4) {
                    try await world.sleep(for: dice.moment())
                    switch dice.index(below: 3) {
                    case 0: manager.pauseAll()
                    case 1: dice.pick(downloads).cancel()
                    default: dice.pick(downloads).pause()
                    }
                    try await world.sleep(for: dice.moment())
                    manager.resumeAll()
                }
            }
            _ = try? await acts.value
            for (number, download) in downloads.enumerated() {
                let file = try await download.file(within: 100, in: world)
                try films[number].requireOneVersion(file)
                finished.change { $0[number] = file }
            }
            for (server, accepted) in zip(mirrors, accepted) {
                for request in server.requests where request.connection > accepted {
                    let number = Int(request.path.drop { !$0.isNumber }) ?? 0
                    try require(!known.contains(number), "\(request.path) was finished, and is requested again")
                }
            }
        }
        for (number, film) in films.enumerated() {
            let file = try finished.value[number] ?? { throw Unmet("film \(number) is missing") }()
            try film.requireOneVersion(file)
        }
        try await laptop.requireNothingUnfinished(after: surprises)
        for mirror in mirrors { try Film.requireConditions(mirror.requests) }
    }

    /// One large file over several connections, with kills and losses of power.
    static let severalConnections = Scenario("several-connections") { world in
        let dice = Dice(world.seed, "several-connections")
        // Of a large one pieces are digested as well.
        let share = dice.oneIn(4) ? RangePlan.leastShare : 64 << 10
        let film = Film(dice, size: 4 * Int(share)...5 * Int(share))
        let changes = dice.oneIn(3)
        let server = world.server("mirror.example")
        world.network.latency = .microseconds(200) ... .milliseconds(dice.pick([2, 20, 200]))
        let url = film.serve(on: server, in: world, dice, changes: changes)
        if dice.oneIn(2) { world.chaos = .network }
        let surprises = dice.pick([Computer.Surprises.none, .init(kills: 2), .init(powerLosses: 2)])
        let laptop = world.computer("laptop")
        let home = laptop.home
        try await laptop.run("player", surprises: surprises) {
            var configuration = DownloadConfiguration(in: home)
            configuration.connections = dice.oneIn(3) ? .adaptive : 4
            configuration.connections.leastShare = share
            configuration.retryPolicy.maximumRetries = 20
            let download = Downloader(url: url, configuration: configuration)
            if dice.oneIn(3) {
                let moment = dice.moment()
                Task {
                    try await world.sleep(for: moment)
                    download.pause()
                    try await world.sleep(for: moment)
                    download.start()
                }
            }
            try film.requireOneVersion(try await download.file(within: 50, in: world))
        }
        try Film.requireConditions(server.requests)
        // A small one is on its way as a whole before its parts are requested.
        let isLarge = share == RangePlan.leastShare
        if isLarge, surprises == .none, world.chaos.isEmpty, !changes, film.manner == .honest {
            let sent = server.requests.reduce(0) { $0 + $1.bytesSent }
            try require(sent < film.versions[0].size * 3 / 2, "\(sent) bytes were sent for \(film.versions[0].size)")
        }
    }

    /// A manager whose server has no time for a day, and says when to come again.
    static let patientManager = Scenario("patient-manager") { world in
        let dice = Dice(world.seed, "patient-manager")
        let server = world.server("mirror.example")
        let content = GeneratedContent(size: 5_000, seed: 7)
        let delay = dice.pick([0, 1, 20, 600, 3_000])
        let day = Duration.seconds(86_400)
        let next = Notes<Duration?>(nil)
        let early = Notes<String?>(nil)
        let url = server.route(
            "/film",
            .computed { _ in
                let now = world.elapsed
                if let next = next.value, now < next { early.change { $0 = "asked \(next - now) too early" } }
                if now >= day { return .generated(content).entityTag("\"v1\"") }
                next.change { $0 = now + .seconds(delay) }
                return .status(503).field("Retry-After", "\(delay)")
            })
        let home = world.computer("laptop").home
        try await world.computer("desk").run("center") {
            var configuration = DownloadConfiguration(in: home)
            configuration.retryPolicy.maximumRetries = 10_000
            configuration.retryPolicy.maximumDelay = .seconds(900)
            let manager = DownloadManager(configuration: configuration)
            let file = try await manager.download(url).file()
            try require(try content.matches(fileAt: file), "the file is not the server's")
        }
        if let early = early.value { throw Unmet(early) }
        let requests = server.requests.count
        try require(requests < 86_400 / max(delay, 700) + 40, "\(requests) requests in a day")
    }
}
