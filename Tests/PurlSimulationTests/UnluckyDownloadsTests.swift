import Foundation
import Purl
import PurlDownloads
import PurlHTTP
import PurlSimulation
import PurlTesting
import Scenarios
import Synchronization
import Testing

/// What managers and background sessions keep, and say, when something comes between.
@Suite struct UnluckyDownloadsTests {
    private static let film = GeneratedContent(size: 60_000, seed: 1)
    private static let reply = Reply.generated(film).entityTag("\"v1\"")

    private static func unfinished(_ home: URL) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: home.path + "/Unfinished")) ?? []
    }

    @Test(arguments: Seeds.some(60))
    func whatIsDeletedIsGoneWheneverTheProcessIsKilled(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.reply.throttled(bytesPerSecond: 20_000))
            let laptop = world.computer("laptop")
            let home = laptop.home
            try await laptop.run("center") {
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                manager.download(url)
                try await world.sleep(for: .seconds(1))
                manager.pauseAll()
                await manager.waitUntilIdle()
            }
            #expect(!Self.unfinished(home).isEmpty)
            try await laptop.run("center", surprises: .init(kills: 1)) {
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                for download in manager.downloads {
                    download.cancelAndDelete()
                    await download.waitUntilIdle()
                }
            }
            #expect(Self.unfinished(home) == [])
        }
    }

    /// The leader brings a third and breaks off while the others are asked to come back later.
    @Test(arguments: [100, 4_000] as [Int64])
    func aServerThatAsksOneConnectionToComeBackLaterIsLeftAlone(seconds: Int64) throws {
        try Simulation(1).run { world in
            let film = GeneratedContent(size: 3 << 20, seed: 9)
            let requests = Arrivals()
            let url = world.server("mirror.example").route(
                "/film",
                .computed { request in
                    requests.add(at: world.elapsed, isWhole: request.fields["Range"] == nil)
                    let reply = Reply.generated(film).entityTag("\"v1\"")
                    if request.number == 0 { return reply.throttled(bytesPerSecond: 300_000).cut(afterBytes: 1 << 20) }
                    return world.elapsed < .seconds(50) ? .status(503).field("Retry-After", "\(seconds)") : reply
                })
            let laptop = world.computer("laptop")
            let home = laptop.home
            let isThere = try await laptop.run("center") {
                var configuration = DownloadConfiguration(in: home)
                configuration.connections = 4
                let manager = DownloadManager(configuration: configuration)
                let file = try? await manager.download(url).file()
                manager.invalidate()
                await manager.waitUntilIdle()
                return file != nil
            }
            // What is asked for is longer than the policy waits.
            #expect(isThere == (seconds == 100))
            let refused = requests.all.filter { $0.time < .seconds(50) && !$0.isWhole }
            let last = try #require(refused.last?.time)
            let later = requests.all.filter { $0.time > last }
            #expect(later.allSatisfy { $0.time >= last + .seconds(seconds) })
            #expect(later.isEmpty == !isThere)
        }
    }

    @Test(arguments: [2, 4])
    func serversThatNeverSendMoreAreNotAskedForEver(connections: Int) throws {
        try Simulation(1).run { world in
            let broken = world.server("a.example")
            let short = world.server("b.example")
            let url = broken.route("/film", Self.reply.reset(afterBytes: 0))
            let mirror = short.route("/film", Self.reply.ignoringRange().cut(afterBytes: 30_000))
            let laptop = world.computer("laptop")
            let home = laptop.home
            let isThere = try await laptop.run("center") {
                var configuration = DownloadConfiguration(in: home)
                configuration.connections = ConnectionCount(connections)
                configuration.connections.leastShare = 8 << 10
                let manager = DownloadManager(configuration: configuration)
                let download = manager.download(
                    url, sha256: SHA256.hexadecimal(of: Self.film.data.bytes), mirrors: [mirror])
                defer { manager.invalidate() }
                return (try? await download.file()) != nil
            }
            #expect(!isThere)
            #expect(broken.requests.count + short.requests.count < 100)
        }
    }

    @Test(arguments: [1, 4])
    func aPartWithAnotherDigestThanItsFieldSaysFailsWithTheAddressAndASentence(connections: Int) throws {
        try Simulation(1).run { world in
            let film = GeneratedContent(size: connections > 1 ? 3 << 20 : 60_000, seed: 9)
            let wrong = "sha-256=:" + Data(repeating: 7, count: 32).base64EncodedString() + ":"
            let url = world.server("mirror.example").route(
                "/film",
                .computed { request in
                    let reply = Reply.generated(film).entityTag("\"v1\"")
                    guard request.fields["Range"] == nil else { return reply.field("Content-Digest", wrong) }
                    return connections > 1 ? reply : reply.cut(afterBytes: 30_000)
                })
            let laptop = world.computer("laptop")
            let home = laptop.home
            let error = try await laptop.run("center") {
                var configuration = DownloadConfiguration(in: home)
                configuration.connections = ConnectionCount(connections)
                let manager = DownloadManager(configuration: configuration)
                defer { manager.invalidate() }
                do {
                    _ = try await manager.download(url).file()
                    return URLError?.none
                } catch {
                    return error as? URLError
                }
            }
            #expect(error?.code == .badServerResponse)
            #expect(error?.failingURL == url)
            #expect(error?.localizedDescription.hasSuffix("have another digest than it has sent.") == true)
        }
    }

    @Test(arguments: Seeds.some(20))
    func whatAnotherProcessTransfersIsDeletedAfterIt(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.reply.throttled(bytesPerSecond: 10_000))
            let laptop = world.computer("laptop")
            let home = laptop.home
            async let one: Void = laptop.run("one") {
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                manager.download(url)
                try await world.sleep(for: .seconds(4))
                #expect(manager.downloads.count == 1)
            }
            async let two: Void = laptop.run("two") {
                try await world.sleep(for: .seconds(1))
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                manager.downloader(for: url)?.cancelAndDelete()
                await manager.waitUntilIdle()
            }
            _ = try await (one, two)
            try await laptop.run("one") {
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                #expect(manager.downloads.isEmpty)
            }
            #expect(Self.unfinished(home) == [])
        }
    }

    @Test(arguments: Seeds.some(100))
    func aFinishedDownloadLeavesNothingWheneverTheProcessIsKilled(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/page", .text("page").entityTag("\"v1\""))
            let laptop = world.computer("laptop")
            let home = laptop.home
            try await laptop.run("center", surprises: .init(kills: 3)) {
                let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
                if manager.finishedFile(for: url) == nil { _ = try await manager.download(url).file() }
                await manager.waitUntilIdle()
            }
            #expect(Self.unfinished(home) == [])
        }
    }

    /// How a download is over.
    enum Ending: CaseIterable {
        case finished, deleted
    }

    /// The later ones have shown a record that stayed.
    private static let failingDisks = Seeds.some(8) + [60, 101, 122, 1_049, 1_237, 1_572].map { Seed($0) }

    @Test(arguments: failingDisks, Ending.allCases)
    func aDiskThatFailsLeavesNothingOfADownloadThatIsOver(seed: Seed, ending: Ending) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.reply.throttled(bytesPerSecond: 20_000))
            let home = world.computer("laptop").home
            let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
            let download = manager.download(url)
            try await world.sleep(for: .seconds(2))
            world.chaos = .diskErrors
            switch ending {
            case .finished:
                while download.state.kind != .finished {
                    download.start()
                    _ = try? await download.file()
                }
            case .deleted:
                download.cancelAndDelete()
            }
            await manager.waitUntilIdle()
            #expect(Self.unfinished(home) == [])
        }
    }

    @Test(arguments: Seeds.some(5))
    func aFileThatTakesThePartialFilesNameIsNotTakenForIt(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.reply.throttled(bytesPerSecond: 20_000))
            let home = world.computer("laptop").home
            let manager = DownloadManager(configuration: DownloadConfiguration(in: home))
            let download = manager.download(url)
            try await world.sleep(for: .seconds(1))
            let part = try #require(Self.unfinished(home).first { $0.hasSuffix(".part") })
            let place = home.appendingPathComponent("Unfinished/\(part)")
            try FileManager.default.moveItem(at: place, to: home.appendingPathComponent("elsewhere"))
            try Data("another file".utf8).write(to: place)
            let error = await #expect(throws: URLError.self) { try await download.file() }
            #expect(error?.code == .cannotMoveFile)
            #expect(error?.localizedDescription.hasSuffix("was replaced while it was written.") == true)
            #expect(try Data(contentsOf: place) == Data("another file".utf8))
            manager.invalidate()
        }
    }

    @Test(arguments: Seeds.some(5))
    func aManagerIsNotIdleWhileADownloadWaitsForItsNextAttempt(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.reply.cut(afterBytes: 10_000, times: 1))
            let manager = DownloadManager(configuration: DownloadConfiguration(in: world.computer("laptop").home))
            let download = manager.download(url)
            await manager.waitUntilIdle()
            #expect(download.state.kind == .finished)
        }
    }

    @Test(arguments: ["data:text/plain,page", "file:///etc/hostname"])
    func aURLThatIsNotOfHTTPIsUnsupported(url: String) throws {
        try Simulation(1).run { world in
            let manager = DownloadManager(configuration: DownloadConfiguration(in: world.computer("laptop").home))
            let url = try #require(URL(string: url))
            let error = await #expect(throws: URLError.self) { try await manager.download(url).file() }
            #expect(error?.code == .unsupportedURL)
            #expect(error?.failingURL == url)
            #expect(error?.localizedDescription == "Only http and https URLs can be downloaded.")
        }
    }

    @Test(arguments: Seeds.some(30))
    func aDiskThatCannotBeReadIsAnErrorOfTheURL(seed: Seed) throws {
        try Simulation(seed).run { world in
            let url = world.server("mirror.example").route("/film", Self.reply)
            var configuration = DownloadConfiguration(in: world.computer("laptop").home)
            configuration.connections = 4
            let manager = DownloadManager(configuration: configuration)
            world.chaos = .readErrors
            do {
                _ = try await manager.download(url).file()
            } catch let error as URLError {
                #expect(error.failingURL == url)
            }
        }
    }

    @Test(arguments: Seeds.some(12))
    func aRecordThatCannotBeReadForTheMomentKeepsItsBytes(seed: Seed) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/film", Self.reply.throttled(bytesPerSecond: 10_000))
            let manager = DownloadManager(configuration: DownloadConfiguration(in: world.computer("laptop").home))
            let download = manager.download(url)
            for await case .progress(let received, _) in download.events where received >= 54_000 { break }
            download.pause()
            await download.waitUntilIdle()
            let before = server.requests.count
            world.chaos = .readErrors
            download.start()
            _ = try? await download.file()
            world.chaos = []
            _ = try await manager.download(url).file()
            #expect(server.requests[before...].reduce(0) { $0 + $1.bytesSent } < 50_000)
        }
    }

    @Test(arguments: Seeds.some(5))
    func bytesOfAWrongMirrorBreakNoRuleWhereADigestFindsThem(seed: Seed) throws {
        try Simulation(seed).run { world in
            let other = Reply.generated(size: 60_000, seed: 2).entityTag("\"v1\"").cut(afterBytes: 30_000)
            let wrong = world.server("one.example").route("/film", other)
            let right = world.server("two.example").route("/film", Self.reply)
            var configuration = DownloadConfiguration(in: world.computer("laptop").home)
            configuration.retryPolicy = .never
            let manager = DownloadManager(configuration: configuration)
            let sha256 = SHA256.hexadecimal(of: Self.film.data.bytes)
            let download = manager.download(wrong, sha256: sha256, mirrors: [right])
            let file = try await download.file()
            #expect(try Self.film.matches(fileAt: file))
            manager.invalidate()
        }
    }

    /// How a program suspends what the process before has left.
    enum Suspension: CaseIterable {
        case inHandler, afterwards, whenResumed
    }

    @Test(arguments: Seeds.some(20), Suspension.allCases)
    func aRestoredDownloadThatIsSuspendedStaysSuspended(seed: Seed, suspension: Suspension) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/film", Self.reply.throttled(bytesPerSecond: 20_000))
            let laptop = world.computer("laptop")
            let home = laptop.home
            @Sendable func makeSession() -> URLSession {
                let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.player")
                configuration.backgroundSessionsDirectory = home
                configuration.continuesDownloadsAfterRelaunch = true
                return URLSession(configuration: configuration)
            }
            try await laptop.run("player") {
                makeSession().downloadTask(with: url).resume()
                try await world.sleep(for: .seconds(1))
            }
            try await laptop.run("player") {
                let session = makeSession()
                switch suspension {
                case .inHandler:
                    session.getAllTasks { for task in $0 { task.suspend() } }
                case .afterwards:
                    for task in await session.allTasks { task.suspend() }
                case .whenResumed:
                    // It is running, and has only not begun.
                    session.getAllTasks {
                        for task in $0 {
                            #expect(task.state == .running)
                            task.resume()
                            task.suspend()
                        }
                    }
                }
                try await world.sleep(for: .seconds(2))
            }
            let before = server.requests.count
            try await laptop.run("player") {
                let tasks = await makeSession().allTasks
                #expect(tasks.map(\.state) == [.suspended])
                try await world.sleep(for: .seconds(20))
            }
            #expect(server.requests.count == before)
        }
    }
}

/// When requests have come to a server.
private final class Arrivals: Sendable {
    private let state = Mutex([(time: Duration, isWhole: Bool)]())

    var all: [(time: Duration, isWhole: Bool)] { state.withLock { $0 } }

    func add(at time: Duration, isWhole: Bool) {
        state.withLock { $0.append((time, isWhole)) }
    }
}
