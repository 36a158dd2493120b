import Foundation
import Purl
import PurlTesting
import Testing

extension ManualClock {
    /// Advances the clock, and returns when a request with this time-out has failed: earlier deadlines have passed as well.
    func pass(_ seconds: TimeInterval) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello").stalled(at: .beforeHead))
        async let outcome = LoadForm.dataAsync.load(URLRequest(url: url, timeoutInterval: seconds)) { $0.clock = self }
        await server.wait { $0.requests.count == 1 }
        advance(by: .seconds(seconds))
        try await outcome.expectFailure(.timedOut, at: url)
    }
}
