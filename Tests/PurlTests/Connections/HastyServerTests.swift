import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A server that closes each connection after a response, without saying so", .timeLimit(.minutes(60)))
struct HastyServerTests {
    @Test("Every POST of a hundred in a row arrives, and arrives once")
    func postsInARow() async throws {
        let rounds = ProcessInfo.processInfo.environment["ROUNDS"].flatMap { Int($0) } ?? 3
        var reasons: [String: Int] = [:]
        for round in 0..<rounds {
            let server = try HastyServer()
            let sandbox = try Sandbox()
            let session = sandbox.session()
            var request = URLRequest(url: server.url)
            request.httpMethod = "POST"
            for number in 0..<100 {
                request.httpBody = Data("\(number)".utf8)
                do {
                    let (body, _) = try await session.data(for: request)
                    #expect(body == Data("ok".utf8))
                } catch {
                    let text =
                        "\((error as NSError).localizedFailureReason ?? "") \((error as? URLError)?.userInfo[NSUnderlyingErrorKey] ?? "")"
                    reasons[text, default: 0] += 1
                }
            }
            if Set(server.bodies).count != server.bodies.count { Issue.record("twice \(server.bodies)") }
            if round % 100 == 99 { print(round, reasons) }
            session.finishTasksAndInvalidate()
        }
        print(reasons)
        #expect(reasons.isEmpty)
    }
}
