import Foundation
import PurlIO
import PurlTesting
import Testing

@testable import Purl

@Suite("A connection that its server has closed", .timeLimit(.minutes(5)))
struct ClosedConnectionTests {
    /// What has to go away.
    @NetworkActor
    private final class Trace {
        weak var connection: HTTPConnection?

        init(_ connection: HTTPConnection?) { self.connection = connection }
    }

    /// The idle connection to a place, which stays where it is.
    @NetworkActor
    private static func trace(_ url: URL, in session: URLSession) throws -> Trace {
        let connection = session.pool.takeIdle(of: try RequestTarget(url).origin)
        if let connection { session.pool.release(connection, mayStay: true) }
        return Trace(connection)
    }

    @Test("is forgotten with the last one to its origin", arguments: [nil, 1 << 20] as [Int?])
    func isForgotten(rate: Int?) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let session = try Sandbox().session { $0.maximumBytesReceivedPerSecond = rate }
        _ = try await session.data(from: url)
        let trace = try await Self.trace(url, in: session)
        #expect(await trace.connection != nil)
        server.closeConnections()
        while await trace.connection != nil { await Task.yield() }
        _ = try await session.data(from: url)
        #expect(server.acceptedConnections == 2)
        session.invalidateAndCancel()
    }
}
