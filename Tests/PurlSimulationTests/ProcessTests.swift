import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Synchronization
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

    @Test(arguments: Seeds.some(20))
    func aCookieThatAProgramSetsOrDeletesIsSoForTheNextOne(seed: Seed) throws {
        try Simulation(seed).run { world in
            let laptop = world.computer("laptop")
            let visitor = try #require(
                HTTPCookie(properties: [
                    .name: "visitor", .value: "one", .domain: "mirror.example", .path: "/",
                    .expires: world.date.addingTimeInterval(3_600),
                ]))
            try await laptop.run("player") { HTTPCookieStorage.shared.setCookie(visitor) }
            let kept = try await laptop.run("player") { HTTPCookieStorage.shared.cookies?.map(\.name) }
            #expect(kept == ["visitor"])
            try await laptop.run("player") { HTTPCookieStorage.shared.deleteCookie(visitor) }
            let left = try await laptop.run("player") { HTTPCookieStorage.shared.cookies?.map(\.name) }
            #expect(left == [])
        }
    }

    @Test func aSharedCacheThatIsReplacedMayAskForTheNextOneInItsDeinitialiser() throws {
        final class LastingCache: URLCache, @unchecked Sendable {
            deinit { URLCache.shared.removeAllCachedResponses() }
        }
        try Simulation(1).run { world in
            try await world.computer("laptop").run("player") {
                URLCache.shared = LastingCache()
                let next = URLCache()
                URLCache.shared = next
                #expect(URLCache.shared === next)
            }
        }
    }

    @Test func aFileThatAProgramReleasesIsUnlocked() throws {
        try Simulation(1).run { world in
            let laptop = world.computer("laptop")
            let file = laptop.home.appendingPathComponent("notes")
            try await laptop.run("player") {
                for word in ["one", ", two"] { try FileHandleSink(fileAt: file).append(Data(word.utf8)) }
            }
            #expect(try Data(contentsOf: file) == Data("one, two".utf8))
        }
    }

    @Test(arguments: ["../player", "..", "/etc/player", "a/../../b"])
    func aProgramsNameLeadsToNoOtherFolder(name: String) throws {
        try Simulation(1).run { world in
            let laptop = world.computer("laptop")
            let home = laptop.home
            try await laptop.run(name) {
                let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.player")
                URLSession(configuration: configuration).invalidateAndCancel()
                let cookie = try #require(
                    HTTPCookie(properties: [
                        .name: "visitor", .value: "one", .domain: "mirror.example", .path: "/",
                        .expires: Date(timeIntervalSince1970: 4_000_000_000),
                    ]))
                HTTPCookieStorage.shared.setCookie(cookie)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: home.path + "/.local/share")
            let files = try FileManager.default.subpathsOfDirectory(atPath: home.path)
            #expect(names.count == 1)
            #expect(files.contains { $0.hasSuffix("Cookies/cookies.v1") })
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

    /// A process that is killed keeps its sessions for good, and these would take the threads of the sessions of others.
    @Test func aSessionHasNoThreadForItsDelegate() throws {
        #expect(URLSession(configuration: .ephemeral).delegateQueue.underlyingQueue != nil)
        try Simulation(1).run { _ in
            #expect(URLSession(configuration: .ephemeral).delegateQueue.underlyingQueue == nil)
        }
    }

    /// Whether a process has the film, by a session that one process has at a time.
    private static func loads(_ url: URL) async -> Bool {
        let configuration = URLSessionConfiguration.background(withIdentifier: "com.example.player")
        let session = URLSession(configuration: configuration, delegate: nil, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        return (try? await session.download(from: url)) != nil
    }

    @Test func twoProcessesOfOneComputerShareItsDiskAndNothingElse() throws {
        let refusals = Mutex(0)
        for seed: UInt64 in 1...20 {
            try Simulation(Seed(seed)).run { world in
                let server = world.server("mirror.example")
                let url = server.route("/film", .generated(size: 30_000).entityTag("\"v1\"").inPieces(of: 2_000))
                let laptop = world.computer("laptop")
                let first = Task { try await laptop.run("player") { await Self.loads(url) } }
                let second = Task { try await laptop.run("player") { await Self.loads(url) } }
                let both = (try await first.value, try await second.value)
                #expect(both.0 || both.1)
                if !both.0 || !both.1 { refusals.withLock { $0 += 1 } }
                // The lock went with the process.
                let hasFilm = try await laptop.run("player") { await Self.loads(url) }
                #expect(hasFilm)
            }
        }
        // The process that comes second cannot have the session before the first one has ended.
        #expect(refusals.withLock { $0 } >= 10)
    }

    @Test func aProcessHasItsOwnProtocolsAndProvider() throws {
        final class Nothing: URLProtocol {}
        try Simulation(1).run { world in
            try await world.computer("laptop").run("player") {
                #expect(URLProtocol.registerClass(Nothing.self))
                URLSessionConfiguration.defaultTLSProvider = nil
            }
            let url = world.server("mirror.example").route("/page", .text("page"))
            _ = try await URLSession.shared.data(from: url)
        }
    }
}
