import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A server that closes each connection after a response, without saying so", .timeLimit(.minutes(5)))
struct HastyServerTests {
    private let sandbox = Sandbox()

    /// The clock stands still, so that no connection counts as kept because the machine was slow.
    @Test("Of POSTs in a row each arrives, and none twice")
    func postsInARow() async throws {
        let server = try HastyServer()
        let session = sandbox.session { $0.clock = ManualClock() }
        var request = URLRequest(url: server.url)
        request.httpMethod = "POST"
        for number in 0..<100 {
            request.httpBody = Data("\(number)".utf8)
            let (body, _) = try await session.data(for: request)
            #expect(body == Data("ok".utf8))
        }
        #expect(server.bodies == (0..<100).map { "\($0)" })
    }
}
