import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("Loading through a SOCKS proxy", .timeLimit(.minutes(5)))
struct SOCKSProxyTests {
    private let sandbox = Sandbox()

    /// The request for `server.test` and a port, as the proxy receives it after the methods.
    private static func request(port: UInt16) -> Data {
        Data([5, 1, 0, 3, 11]) + Data("server.test".utf8) + Data([UInt8(port >> 8), UInt8(port & 0xFF)])
    }

    /// A proxy that accepts one connection after another, and then does as the server does.
    private func proxy(
        port: UInt16 = 80, server: @escaping @Sendable @NetworkActor (RawPeer) async -> Void
    ) async throws -> RawListener {
        try await RawListener.started { peer in
            #expect(await peer.bytes(3) == Data([5, 1, 0]))
            peer.send(bytes: [5, 0])
            #expect(await peer.bytes(18) == Self.request(port: port))
            await server(peer)
        }
    }

    private static let accepted: [UInt8] = [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]

    private func session(_ proxy: RawListener, _ delegate: TaskWitness? = nil) -> URLSession {
        sandbox.session(delegate) {
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesSOCKSEnable: 1, kCFNetworkProxiesSOCKSProxy: "127.0.0.1",
                kCFNetworkProxiesSOCKSPort: Int(proxy.port),
            ]
        }
    }

    @Test("A request goes over the proxy's connection as it would without it, and the connection is used again")
    func http() async throws {
        let heads = LockedValue<[String]>([])
        let proxy = try await proxy { peer in
            peer.send(bytes: Self.accepted)
            for _ in 0..<2 {
                let head = await peer.head() ?? ""
                heads.withLock { $0.append(head) }
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            _ = await peer.rest()
        }
        let witness = TaskWitness()
        let session = session(proxy, witness)
        let url = try #require(URL(string: "http://server.test/file?query"))
        for count in 1...2 {
            session.dataTask(with: url).resume()
            await witness.completion(of: count)
        }
        #expect(heads.withLock { $0 }.allSatisfy { $0.hasPrefix("GET /file?query HTTP/1.1\r\nHost: server.test\r\n") })
        #expect(heads.withLock { $0 }.count == 2)
        #expect(proxy.acceptedConnections == 1)
        #expect(witness.metrics.first?.transactionMetrics.first?.isProxyConnection == true)
    }

    @Test("A stream begins with the bytes that come right after the proxy's reply")
    func stream() async throws {
        let proxy = try await proxy(port: 7) { peer in
            peer.send(bytes: Self.accepted + Array("greeting".utf8))
            _ = await peer.rest()
        }
        let session = session(proxy)
        let task = session.streamTask(withHostName: "server.test", port: 7).resumed()
        #expect(try await task.readData(ofMinLength: 8, maxLength: 8, timeout: 0).0 == Data("greeting".utf8))
        task.cancel()
    }

    @Test("A WebSocket's handshake goes over the proxy's connection")
    func webSocket() async throws {
        let proxy = try await proxy { peer in
            peer.send(bytes: Self.accepted)
            #expect(await peer.head()?.hasPrefix("GET /chat HTTP/1.1\r\n") == true)
            peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            _ = await peer.rest()
        }
        let session = session(proxy)
        let task = session.webSocketTask(with: try #require(URL(string: "ws://server.test/chat"))).resumed()
        let error = try await #require(throws: URLError.self) { try await task.receive() }
        #expect(error.code == .badServerResponse)
    }

    @Test("The environment's proxy is asked with the user and the password of its URL")
    func environment() async throws {
        let proxy = try await RawListener.started { peer in
            #expect(await peer.bytes(4) == Data([5, 2, 0, 2]))
            peer.send(bytes: [5, 2])
            #expect(await peer.bytes(7) == Data([1, 2]) + Data("me".utf8) + Data([2]) + Data("pw".utf8))
            peer.send(bytes: [1, 0])
            #expect(await peer.bytes(18) == Self.request(port: 80))
            peer.send(bytes: Self.accepted)
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            _ = await peer.rest()
        }
        let session = sandbox.session { $0.proxyVariables = ["all_proxy": "socks5h://me:pw@127.0.0.1:\(proxy.port)"] }
        let url = try #require(URL(string: "http://server.test/"))
        #expect(try await session.data(from: url).0 == Data("ok".utf8))
    }

    @Test(
        "A refusal fails with a sentence that names the proxy and the reason",
        arguments: [
            ([5, 5, 0, 1], "the server refused its connection"),
            ([5, 2, 0, 1], "its rules do not allow the connection"),
            ([5, 4, 0, 1], "it cannot reach the server, or knows no such name"),
            ([4, 0, 0, 1], "it does not speak SOCKS 5"),
            ([], "it closed the connection before there was one to the server"),
        ] as [([UInt8], String)])
    func refusal(reply: [UInt8], reason: String) async throws {
        let proxy = try await proxy { $0.send(bytes: reply) }
        let session = session(proxy)
        let url = try #require(URL(string: "http://server.test/"))
        let error = try await #require(throws: URLError.self) { try await session.data(from: url) }
        #expect(error.code == .cannotConnectToHost)
        #expect(error.failingURL == url)
        #expect(
            (error as NSError).localizedFailureReason
                == "The SOCKS proxy “127.0.0.1:\(proxy.port)” made no connection to “server.test:80”: \(reason).")
    }

    @Test("A proxy that cannot be reached is named")
    func unreachable() async throws {
        let port = try DeadPort()
        let session = sandbox.session {
            $0.connectionProxyDictionary = ["SOCKSEnable": 1, "SOCKSProxy": "127.0.0.1", "SOCKSPort": Int(port.number)]
        }
        let url = try #require(URL(string: "http://server.test/"))
        let error = try await #require(throws: URLError.self) { try await session.data(from: url) }
        #expect(error.code == .cannotConnectToHost)
        let reason = (error as NSError).localizedFailureReason ?? ""
        #expect(reason.hasPrefix("The proxy “127.0.0.1:\(port.number)” cannot be reached: "))
    }

    @Test("A proxy that does not reply is given up when the task is cancelled")
    func cancelling() async throws {
        let (calls, called) = AsyncStream.makeStream(of: Void.self)
        let proxy = try await RawListener.started { peer in
            _ = await peer.bytes(3)
            called.yield()
            #expect(await peer.rest() == Data())
        }
        let witness = TaskWitness()
        let session = session(proxy, witness)
        let task = session.dataTask(with: try #require(URL(string: "http://server.test/"))).resumed()
        for await _ in calls { break }
        task.cancel()
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
    }
}
