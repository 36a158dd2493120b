import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("URLSession.shared", .timeLimit(.minutes(5)))
struct SharedSessionTests {
    @Test("The shared session loads data")
    func loads() async throws {
        let server = try LoopbackServer()
        server.route("/file", .text("hello"))
        let (data, response) = try await URLSession.shared.data(from: server.url("/file"))
        #expect(data == Data("hello".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    @Test("shared is one instance without a delegate")
    func instance() {
        #expect(URLSession.shared === URLSession.shared)
        #expect(URLSession.shared.delegate == nil)
    }

    @Test("Invalidating the shared session has no effect")
    func invalidation() async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.route("/slow", .text("slow").delayed(until: gate))
        server.route("/file", .text("hello"))
        async let slow = URLSession.shared.data(from: server.url("/slow"))
        await gate.reached()
        URLSession.shared.invalidateAndCancel()
        URLSession.shared.finishTasksAndInvalidate()
        gate.open()
        #expect(try await slow.0 == Data("slow".utf8))
        let (data, _) = try await URLSession.shared.data(from: server.url("/file"))
        #expect(data == Data("hello".utf8))
    }

    @Test("The shared session calls handlers on its delegate queue")
    func queue() async throws {
        let server = try LoopbackServer()
        server.route("/file", .text("hello"))
        let isRight = await withCheckedContinuation { continuation in
            URLSession.shared.dataTask(with: server.url("/file")) { data, _, _ in
                continuation.resume(
                    returning: data == Data("hello".utf8) && OperationQueue.current === URLSession.shared.delegateQueue)
            }.resume()
        }
        #expect(isRight)
    }
}
