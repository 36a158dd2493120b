import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The rate limits of a configuration", .timeLimit(.minutes(5)))
struct RateSettingTests {
    private let home = BackgroundHome()

    @Test(
        "A limit is nil by default, and at least one",
        arguments: [(nil, nil), (5, 5), (1, 1), (0, 1), (.min, 1)] as [(Int?, Int?)])
    func values(given: Int?, kept: Int?) {
        for configuration in [URLSessionConfiguration.default, .ephemeral, .background(withIdentifier: "x")] {
            #expect(configuration.limits.bytesReceivedPerSecond == nil)
            #expect(configuration.limits.bytesSentPerSecond == nil)
            configuration.limits.bytesReceivedPerSecond = given
            #expect(configuration.limits.bytesReceivedPerSecond == kept)
            #expect(configuration.limits.bytesSentPerSecond == nil)
            configuration.limits.bytesSentPerSecond = given
            #expect(configuration.limits.bytesSentPerSecond == kept)
        }
    }

    @Test("Copies of a configuration and sessions have limits of their own")
    func copies() throws {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.limits.bytesReceivedPerSecond = 5
        configuration.limits.bytesSentPerSecond = 6
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        configuration.limits.bytesReceivedPerSecond = nil
        configuration.limits.bytesSentPerSecond = nil
        for kept in [copy, session.configuration] {
            #expect(kept.limits.bytesReceivedPerSecond == 5)
            #expect(kept.limits.bytesSentPerSecond == 6)
        }
    }

    @Test("A background download keeps to the limit, before and after a relaunch")
    func background() async throws {
        let rate = RateLimitedSession.rate
        let content = GeneratedContent(size: 60_000, seed: 73)
        let server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\""))
        let (first, clock) = Self.session(home, Witness(), rate)
        let task = first.downloadTask(with: server.url("/file")).resumed()
        while task.countOfBytesReceived < 30_000, !Task.isCancelled {
            await clock.advance(milliseconds: 10)
            #expect(Int(task.countOfBytesReceived) <= (await clock.allowed(at: rate)))
        }
        // The first session's clock stands still from here on.
        let next = try home.afterCrash()
        let witness = Witness()
        let (second, newClock) = Self.session(next, witness, rate)
        while witness.completions == 0, !Task.isCancelled {
            await newClock.advance(milliseconds: 10)
        }
        #expect(witness.events.contains(.file(content.size)))
        // The bytes that were not safe on disk when the first process ended are loaded again at the second's rate.
        let loaded = server.requests.last?.bytesSent ?? 0
        #expect(await newClock.allowed(at: rate) >= loaded)
        second.invalidateAndCancel()
    }

    private static func session(_ home: BackgroundHome, _ witness: Witness, _ rate: Int) -> (
        URLSession, ManualRateClock
    ) {
        let clock = ManualRateClock()
        let configuration = home.configuration {
            $0.continuesDownloadsAfterRelaunch = true
            $0.limits.bytesReceivedPerSecond = rate
        }
        var values = configuration.snapshot
        values.rateClock = clock
        return (home.sandbox.session(of: URLSessionConfiguration(values), witness), clock)
    }
}
