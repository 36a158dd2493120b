import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

/// As many transfers at once as there are descriptors for.
@Suite(.timeLimit(.minutes(5))) struct ManyAtOnceTests {
    /// Two for each connection, and as many again for everybody else in this process.
    private static let count = min(2_000, Descriptors.limit / 4)

    @Test("All wait for the server at the same time, and all finish")
    func waiting() async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        server.fallback(.text("hello").delayed(until: gate))
        let sandbox = try Sandbox()
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = Self.count }
        defer { session.invalidateAndCancel() }
        let answers = Answers()
        await Self.slowly(Self.count) {
            answers.start(server.url("/\($0)"), in: session)
        } reached: {
            await gate.reached(times: $0)
        }
        #expect(server.acceptedConnections == Self.count)
        gate.open()
        await answers.wait(for: Self.count)
        #expect(answers.bodies == ["hello": Self.count])
        // The connections are there for the next ones, whoever comes first.
        for number in 0..<Self.count { answers.start(server.url("/\(number)"), in: session) }
        await answers.wait(for: 2 * Self.count)
        #expect(answers.bodies == ["hello": 2 * Self.count])
        #expect(server.acceptedConnections == Self.count)
    }

    @Test("When the server closes all of them, idle as they are, new ones are made")
    func closed() async throws {
        let count = min(500, Self.count)
        let server = try LoopbackServer()
        let gate = Gate()
        server.fallback(.text("hello").delayed(until: gate))
        let sandbox = try Sandbox()
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = count }
        defer { session.invalidateAndCancel() }
        let answers = Answers()
        await Self.slowly(count) {
            answers.start(server.url("/\($0)"), in: session)
        } reached: {
            await gate.reached(times: $0)
        }
        gate.open()
        await answers.wait(for: count)
        server.closeConnections()
        await server.waitUntilDisconnected()
        await Self.slowly(count) {
            answers.start(server.url("/\($0)"), in: session)
        } reached: {
            await answers.wait(for: count + $0)
        }
        #expect(answers.bodies == ["hello": 2 * count])
    }

    @Test("All of them cancelled at once end at once")
    func cancelled() async throws {
        let server = try LoopbackServer()
        let gate = Gate()
        server.fallback(.text("hello").delayed(until: gate))
        let sandbox = try Sandbox()
        // Half of them wait for a connection only.
        let session = sandbox.session { $0.httpMaximumConnectionsPerHost = Self.count / 2 }
        let answers = Answers()
        await Self.slowly(Self.count) {
            answers.start(server.url("/\($0)"), in: session)
        } reached: {
            await gate.reached(times: min($0, Self.count / 2))
        }
        session.invalidateAndCancel()
        await answers.wait(for: Self.count)
        #expect(answers.bodies == ["\(URLError.Code.cancelled.rawValue)": Self.count])
        await server.waitUntilDisconnected()
    }

    /// Starts so many, but no faster than connections are accepted: the system's queue for them is short, and when it has
    /// overflowed some connections turn out to be none.
    private static func slowly(_ count: Int, start: (Int) -> Void, reached: (Int) async -> Void) async {
        for number in 1...count {
            start(number)
            if number.isMultiple(of: 100) || number == count { await reached(number) }
        }
    }

    /// What became of each.
    private final class Answers: Sendable {
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
