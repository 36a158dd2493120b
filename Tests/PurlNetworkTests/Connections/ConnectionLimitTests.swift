import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("httpMaximumConnectionsPerHost", .timeLimit(.minutes(5)))
struct ConnectionLimitTests {
    private let sandbox = Sandbox()
    private let witness = Witness()
    private let gate = ServerGate()

    @Test("No more connections than allowed are opened, and waiting tasks are served in turn", arguments: [1, 2, 3, 6])
    func limit(count: Int) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello").delayed(until: gate))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = count }
        for number in 0..<10 { session.dataTask(with: server.url("/\(number)")).resume() }
        await gate.reached(times: count)
        #expect(server.acceptedConnections == count)
        gate.open()
        await witness.completion(of: 10)
        #expect(server.requests.count == 10)
        #expect(server.acceptedConnections == count)
        #expect(Set(server.requests.map(\.connection)) == Set(1...count))
        session.invalidateAndCancel()
        await server.waitUntilDisconnected()
    }

    @Test("The default is six connections")
    func standard() async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello").delayed(until: gate))
        let session = sandbox.session(witness)
        #expect(session.configuration.httpMaximumConnectionsPerHost == 6)
        for _ in 0..<20 { session.dataTask(with: server.url("/file")).resume() }
        await gate.reached(times: 6)
        gate.open()
        await witness.completion(of: 20)
        #expect(server.acceptedConnections == 6)
    }

    @Test("A limit below one means one", arguments: [0, -1, Int.min])
    func lessThanOne(count: Int) async throws {
        let server = try LoopbackServer()
        server.fallback(.text("hello"))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = count }
        for _ in 0..<3 { session.dataTask(with: server.url("/file")).resume() }
        await witness.completion(of: 3)
        #expect(server.requests.map(\.connection) == [1, 1, 1])
    }

    @Test("Waiting tasks are served in the order of resume")
    func order() async throws {
        let server = try LoopbackServer()
        server.route("/first", .text("hello").delayed(until: gate))
        server.fallback(.text("hello"))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        await gate.reached()
        let tasks = (0..<20).map { session.dataTask(with: server.url("/\($0)")) }
        for task in tasks.reversed() { task.resume() }
        gate.open()
        await witness.completion(of: 21)
        #expect(server.requests.map(\.path) == ["/first"] + (0..<20).reversed().map { "/\($0)" })
        #expect(server.requests.allSatisfy { $0.connection == 1 })
    }

    @Test("Each host has a limit of its own")
    func perHost() async throws {
        let first = try LoopbackServer()
        let second = try LoopbackServer()
        first.fallback(.text("hello").delayed(until: gate))
        second.fallback(.text("hello"))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: first.url("/1")).resume()
        session.dataTask(with: first.url("/2")).resume()
        await gate.reached()
        let (body, _) = try await session.data(from: second.url("/3"))
        #expect(body == Data("hello".utf8))
        #expect(witness.events == [])
        gate.open()
        await witness.completion(of: 2)
    }

    @Test("A waiting task that is cancelled frees its place and sends no request")
    func cancelWaiting() async throws {
        let server = try LoopbackServer()
        server.route("/first", .text("hello").delayed(until: gate))
        server.fallback(.text("hello"))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        await gate.reached()
        let second = session.dataTask(with: server.url("/second"))
        let third = session.dataTask(with: server.url("/third"))
        second.resume()
        third.resume()
        second.cancel()
        await witness.completion()
        #expect(witness.events == [.completed(.cancelled)])
        #expect(witness.error(of: second)?.failingURL == server.url("/second"))
        gate.open()
        await witness.completion(of: 3)
        #expect(witness.data(of: third) == Data("hello".utf8))
        #expect(server.requests.map(\.path) == ["/first", "/third"])
    }

    @Test("A waiting task that is suspended yields its turn and is served after it is resumed")
    func suspendWaiting() async throws {
        let server = try LoopbackServer()
        server.route("/first", .text("hello").delayed(until: gate))
        server.fallback(.text("hello"))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        session.dataTask(with: server.url("/first")).resume()
        await gate.reached()
        let second = session.dataTask(with: server.url("/second")).resumed()
        session.dataTask(with: server.url("/third")).resume()
        second.suspend()
        gate.open()
        await witness.completion(of: 2)
        #expect(server.requests.map(\.path) == ["/first", "/third"])
        second.resume()
        await witness.completion(of: 3)
        #expect(server.requests.map(\.path) == ["/first", "/third", "/second"])
    }

    static let ends: [(name: String, reply: Reply)] = [
        ("cut", .text("hello").cut(at: .midHead)), ("reset", .generated(size: 1000).reset(afterBytes: 5)),
        ("closed", .text("hello").closingConnection()), ("broken", .raw("garbage\r\n\r\n")),
        ("timed out", .text("hello").stalled(at: .beforeHead)),
    ]

    @Test("An exchange frees its connection's place, however it ends", arguments: ends)
    func places(end: (name: String, reply: Reply)) async throws {
        let server = try LoopbackServer()
        let bad = server.route("/bad", end.reply)
        let good = server.route("/good", .text("hello"))
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
        for _ in 0..<3 {
            session.dataTask(with: URLRequest(url: bad, timeoutInterval: 1)).resume()
            session.dataTask(with: good).resume()
        }
        await witness.completion(of: 6)
        #expect(server.requests.map(\.path) == ["/bad", "/good", "/bad", "/good", "/bad", "/good"])
    }

    @Test("A hundred tasks on two connections all complete")
    func many() async throws {
        let server = try LoopbackServer()
        server.fallback(.computed { .text($0.path) })
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = 2 }
        try await withThrowingTaskGroup(of: (Int, Data).self) { group in
            for number in 0..<100 {
                group.addTask { (number, try await session.data(from: server.url("/\(number)")).0) }
            }
            for try await (number, body) in group { #expect(body == Data("/\(number)".utf8)) }
        }
        #expect(server.acceptedConnections == 2)
    }
}
