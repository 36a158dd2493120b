import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("A session with a resolver and a hook for sockets", .timeLimit(.minutes(5)))
struct ResolverTests {
    private let witness = TaskWitness()
    private let sandbox = Sandbox()
    private let server: LoopbackServer
    private let url: URL

    init() throws {
        server = try LoopbackServer()
        server.route("/file", .text("content"))
        url = try #require(URL(string: "http://named.test:\(server.port)/file"))
    }

    private func failure(_ change: (URLSessionConfiguration) -> Void) async throws -> URLError {
        let session = sandbox.session(nil, change)
        defer { session.invalidateAndCancel() }
        return try await #require(throws: URLError.self) { try await session.data(from: url) }
    }

    @Test("The resolver is asked for names, and its addresses are tried in order")
    func addresses() async throws {
        let asked = LockedValue<[String]>([])
        let session = sandbox.session(witness) {
            $0.resolver = AnyResolver { host in
                asked.withLock { $0.append(host) }
                return ["127.0.0.2", "127.0.0.1"]
            }
        }
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        #expect(asked.withLock { $0 } == ["named.test"])
        let transaction = try #require(witness.metrics.first?.transactionMetrics.first)
        #expect(transaction.remoteAddress == "127.0.0.1")
        let start = try #require(transaction.domainLookupStartDate)
        #expect(start <= transaction.domainLookupEndDate ?? .distantPast)
        _ = try await session.data(from: server.url("/file"))
        #expect(asked.withLock { $0 }.count == 1, "a host in digits is not looked up")
    }

    @Test("A name without addresses, and one with text for an address, are errors")
    func badAddresses() async throws {
        #expect(try await failure { $0.resolver = AnyResolver { _ in [] } }.code == .cannotFindHost)
        let error = try await failure { $0.resolver = AnyResolver { _ in ["127.0.0.1", "localhost"] } }
        #expect(error.code == .dnsLookupFailed)
        #expect(error.failingURL == url)
        #expect(
            (error as NSError).localizedFailureReason
                == "The resolver gave “localhost” for “named.test”, which is not an address in digits.")
    }

    @Test("A URLError of the resolver is the task's error, any other is beneath dnsLookupFailed")
    func errors() async throws {
        struct NoServer: Error {}
        #expect(try await failure { $0.resolver = AnyResolver { _ in throw URLError(.timedOut) } }.code == .timedOut)
        let error = try await failure { $0.resolver = AnyResolver { _ in throw NoServer() } }
        #expect(error.code == .dnsLookupFailed)
        #expect(error.userInfo[NSUnderlyingErrorKey] is NoServer)
    }

    @Test("A task that is cancelled cancels the look-up")
    func cancelling() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let (calls, called) = AsyncStream.makeStream(of: Void.self)
        let session = sandbox.session(witness) {
            $0.resolver = AnyResolver { _ in
                called.yield()
                // Ends when the task is cancelled.
                for await _ in AsyncStream<Void>.makeStream().stream {}
                end.yield(Task.isCancelled)
                return []
            }
        }
        let task = session.dataTask(with: url).resumed()
        for await _ in calls { break }
        task.cancel()
        for await isCancelled in ends {
            #expect(isCancelled)
            break
        }
        await witness.completion()
        #expect(witness.events.last == .completed(.cancelled))
    }

    @Test("The hook sees each socket with its address before it connects, and may bind it")
    func hook() async throws {
        let seen = LockedValue<[TransportAddress]>([])
        // The second address has its turn after 250 ms, also where the hook has not begun with the first.
        let (firsts, first) = AsyncStream.makeStream(of: Void.self)
        let session = sandbox.session(witness) {
            $0.resolver = AnyResolver { _ in ["127.0.0.3", "127.0.0.1"] }
            $0.prepareSocket = { socket, address in
                if address.address == "127.0.0.1" { for await _ in firsts { break } }
                seen.withLock { $0.append(address) }
                first.yield()
                var source = sockaddr_in()
                source.sin_family = sa_family_t(AF_INET)
                source.sin_addr.s_addr = UInt32(0x7F00_0009).bigEndian
                let size = socklen_t(MemoryLayout<sockaddr_in>.size)
                let result = withUnsafePointer(to: &source) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, size) }
                }
                #expect(result == 0)
            }
        }
        session.dataTask(with: url).resume()
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        #expect(seen.withLock { $0 }.map(\.address) == ["127.0.0.3", "127.0.0.1"])
        #expect(seen.withLock { $0 }.map(\.port) == [Int(server.port), Int(server.port)])
        #expect(witness.metrics.first?.transactionMetrics.first?.localAddress == "127.0.0.9")
    }

    @Test("What the hook throws fails the attempt")
    func hookErrors() async throws {
        struct NoDevice: Error {}
        let error = try await failure {
            $0.resolver = AnyResolver { _ in ["127.0.0.1"] }
            $0.prepareSocket = { _, _ in throw NoDevice() }
        }
        #expect(error.code == .cannotConnectToHost)
        #expect(error.userInfo[NSUnderlyingErrorKey] is NoDevice)
        let session = sandbox.session {
            $0.resolver = AnyResolver { _ in ["127.0.0.2", "127.0.0.1"] }
            $0.prepareSocket = { _, address in if address.address == "127.0.0.2" { throw POSIXError(.EPERM) } }
        }
        #expect(try await session.data(from: url).0 == Data("content".utf8))
    }

    @Test("A socket stays the hook's until it returns, also when the task has been cancelled")
    func hookCancelling() async throws {
        let (calls, called) = AsyncStream.makeStream(of: Int32.self)
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        let (results, result) = AsyncStream.makeStream(of: Int32.self)
        let session = sandbox.session(witness) {
            $0.resolver = AnyResolver { _ in ["127.0.0.1"] }
            $0.prepareSocket = { socket, _ in
                called.yield(socket)
                // In a task of its own, which is not cancelled with this one.
                await Task { for await _ in gate {} }.value
                var flag: Int32 = 1
                result.yield(setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &flag, 4))
            }
        }
        let task = session.dataTask(with: url).resumed()
        for await _ in calls { break }
        task.cancel()
        await witness.completion()
        opening.finish()
        for await result in results {
            #expect(result == 0)
            break
        }
    }
}

/// A resolver that runs a closure.
struct AnyResolver: HostResolver {
    private let body: @Sendable (String) async throws -> [String]

    init(_ body: @escaping @Sendable (String) async throws -> [String]) {
        self.body = body
    }

    func addresses(of host: String) async throws -> [String] { try await body(host) }
}
