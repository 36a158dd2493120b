import Foundation
import Purl
import Testing

@Suite("A server that closes each connection after a response, without saying so", .timeLimit(.minutes(5)))
struct HastyServerTests {
    /// One that reaches the server's system before the server closes is lost with a reset, which does not tell whether it
    /// was read.
    @Test("Of POSTs in a row none arrives twice, and each that is not answered fails with networkConnectionLost")
    func postsInARow() async throws {
        let server = try HastyServer()
        let sandbox = try Sandbox()
        let session = sandbox.session()
        var request = URLRequest(url: server.url)
        request.httpMethod = "POST"
        var answered: [String] = []
        for number in 0..<100 {
            request.httpBody = Data("\(number)".utf8)
            do {
                let (body, _) = try await session.data(for: request)
                #expect(body == Data("ok".utf8))
                answered.append("\(number)")
            } catch {
                #expect((error as? URLError)?.code == .networkConnectionLost)
            }
        }
        #expect(server.bodies == answered)
        session.finishTasksAndInvalidate()
    }
}
