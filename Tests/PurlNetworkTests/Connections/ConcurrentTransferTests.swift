import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("As many concurrent transfers as there are descriptors for", .timeLimit(.minutes(5)))
struct ConcurrentTransferTests {
    private let sandbox = Sandbox()
    private let gate = ServerGate()

    /// Each takes two descriptors, and as many stay free for the rest of this process.
    private static let count = min(1_000, Descriptors.limit / 4)

    @Test("All wait for the server at the same time, and all complete")
    func waiting() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello").delayed(until: gate))
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = Self.count }
        let results = Results()
        await Self.slowly(Self.count) {
            results.start(server.url("/\($0)"), in: session)
        } reached: {
            await gate.reached(times: $0)
        }
        #expect(server.acceptedConnections == Self.count)
        gate.open()
        await results.wait(for: Self.count)
        #expect(results.bodies == ["hello": Self.count])
        // The next transfers reuse the connections.
        for number in 0..<Self.count { results.start(server.url("/\(number)"), in: session) }
        await results.wait(for: 2 * Self.count)
        #expect(results.bodies == ["hello": 2 * Self.count])
        #expect(server.acceptedConnections == Self.count)
    }

    @Test("New connections are made after the server closed all idle ones")
    func closed() async throws {
        let count = min(500, Self.count)
        let server = try LoopbackServer()
        server.fallback(.text("hello").delayed(until: gate))
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = count }
        let results = Results()
        await Self.slowly(count) {
            results.start(server.url("/\($0)"), in: session)
        } reached: {
            await gate.reached(times: $0)
        }
        gate.open()
        await results.wait(for: count)
        server.closeConnections()
        await server.waitUntilDisconnected()
        await Self.slowly(count) {
            results.start(server.url("/\($0)"), in: session)
        } reached: {
            await results.wait(for: count + $0)
        }
        #expect(results.bodies == ["hello": 2 * count])
    }

    @Test("Transfers that are cancelled together all end with cancelled")
    func cancelled() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello").delayed(until: gate))
        // Half of them wait for a connection.
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = Self.count / 2 }
        let results = Results()
        await Self.slowly(Self.count) {
            results.start(server.url("/\($0)"), in: session)
        } reached: {
            await gate.reached(times: min($0, Self.count / 2))
        }
        session.invalidateAndCancel()
        await results.wait(for: Self.count)
        #expect(results.bodies == ["\(URLError.Code.cancelled.rawValue)": Self.count])
        await server.waitUntilDisconnected()
    }

    /// Starts `count` transfers no faster than connections are accepted: the system's queue is short, and after an
    /// overflow some connections fail.
    private static func slowly(_ count: Int, start: (Int) -> Void, reached: (Int) async -> Void) async {
        for number in 1...count {
            start(number)
            if number.isMultiple(of: 100) || number == count { await reached(number) }
        }
    }

    /// The results of the transfers.
    private final class Results: Sendable {
        private let log = EventLog<String>()

        var bodies: [String: Int] { Dictionary(log.events.map { ($0, 1) }, uniquingKeysWith: +) }

        func start(_ url: URL, in session: URLSession) {
            session.dataTask(with: url) { [log] data, _, error in
                let code = (error as? URLError)?.code.rawValue
                log.append(data.map { String(decoding: $0, as: UTF8.self) } ?? "\(code ?? 0)")
            }
            .resume()
        }

        func wait(for count: Int) async {
            await log.wait { $0.count >= count }
        }
    }
}

@Suite("Transfers without free descriptors", .timeLimit(.minutes(5)))
struct DescriptorShortageTests {
    @Test("Transfers wait for the connections there are descriptors for")
    func waiting() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        await #expect(processExitsWith: .success) { [url = server.url as URL] in
            let session = DescriptorShortageTests.session()
            _ = try await session.data(from: url)
            let reservation = Descriptors.reserveAll(but: 10)
            let good = await DescriptorShortageTests.load(url, times: 500, in: session)
            #expect(good == 500)
            reservation.release()
            #expect(await DescriptorShortageTests.load(url, times: 100, in: session) == 100)
        }
        #expect(server.acceptedConnections < 112)
        #expect(server.requests.count == 601)
    }

    @Test("A transfer without any descriptor fails with the system's error, and a later one succeeds")
    func none() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello").closingConnection())
        await #expect(processExitsWith: .success) { [url = server.url as URL] in
            let session = DescriptorShortageTests.session()
            _ = try await session.data(from: url)
            let reservation = Descriptors.reserveAll(but: 0)
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            reservation.release()
            #expect(error?.code == .cannotConnectToHost)
            #expect(error?.failureSentence.contains("Too many open files") == true)
            #expect(await DescriptorShortageTests.load(url, times: 100, in: session) == 100)
        }
    }

    @Test("An idle connection to another origin is closed for its descriptor")
    func elsewhere() async throws {
        let servers = try [LoopbackServer(), LoopbackServer()]
        for server in servers { server.fallback(.text("hello")) }
        await #expect(processExitsWith: .success) { [first = servers[0].url as URL, second = servers[1].url as URL] in
            let session = DescriptorShortageTests.session()
            _ = try await session.data(from: first)
            let reservation = Descriptors.reserveAll(but: 0)
            #expect(await DescriptorShortageTests.load(second, times: 20, in: session) == 20)
            #expect(await DescriptorShortageTests.load(first, times: 20, in: session) == 20)
            reservation.release()
        }
        #expect(servers.map { $0.requests.count } == [21, 20])
    }

    private static func session() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 10_000
        return URLSession(configuration: configuration)
    }

    /// The number of successful loads.
    private static func load(_ url: URL, times: Int, in session: URLSession) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<times {
                group.addTask { (try? await session.data(from: url).0) == Data("hello".utf8) ? 1 : 0 }
            }
            return await group.reduce(0, +)
        }
    }
}
