import Foundation
import Purl
import PurlTesting
import Testing

/// Without descriptors for more connections, transfers make do with those there are, or say what is missing; with
/// descriptors again all is as before. In processes of their own, whose descriptors are used up.
@Suite(.timeLimit(.minutes(5))) struct DescriptorShortageTests {
    @Test("Transfers wait for the connections that there were descriptors for")
    func waiting() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        await #expect(processExitsWith: .success) { [url = server.url as URL] in
            let session = DescriptorShortageTests.session()
            _ = try await session.data(from: url)
            let hoard = Descriptors.leave(10)
            let good = await DescriptorShortageTests.load(url, times: 500, in: session)
            #expect(good == 500)
            hoard.release()
            #expect(await DescriptorShortageTests.load(url, times: 100, in: session) == 100)
        }
        #expect(server.acceptedConnections < 112)
        #expect(server.requests.count == 601)
    }

    @Test("A session without a single one fails with a clear error, and recovers")
    func none() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello").closingConnection())
        await #expect(processExitsWith: .success) { [url = server.url as URL] in
            let session = DescriptorShortageTests.session()
            _ = try await session.data(from: url)
            let hoard = Descriptors.leave(0)
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            hoard.release()
            #expect(error?.code == .cannotConnectToHost)
            #expect(error?.localizedDescription.contains("Too many open files") == true)
            #expect(await DescriptorShortageTests.load(url, times: 100, in: session) == 100)
        }
    }

    @Test("A connection that is idle elsewhere gives way")
    func elsewhere() async throws {
        let servers = try [LoopbackServer(), LoopbackServer()]
        for server in servers { server.fallback(.text("hello")) }
        await #expect(processExitsWith: .success) { [first = servers[0].url as URL, second = servers[1].url as URL] in
            let session = DescriptorShortageTests.session()
            _ = try await session.data(from: first)
            let hoard = Descriptors.leave(0)
            #expect(await DescriptorShortageTests.load(second, times: 20, in: session) == 20)
            #expect(await DescriptorShortageTests.load(first, times: 20, in: session) == 20)
            hoard.release()
        }
        #expect(servers.map { $0.requests.count } == [21, 20])
    }

    private static func session() -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = 10_000
        return URLSession(configuration: configuration)
    }

    /// How many of them arrived.
    private static func load(_ url: URL, times: Int, in session: URLSession) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<times {
                group.addTask { (try? await session.data(from: url).0) == Data("hello".utf8) ? 1 : 0 }
            }
            return await group.reduce(0, +)
        }
    }
}
