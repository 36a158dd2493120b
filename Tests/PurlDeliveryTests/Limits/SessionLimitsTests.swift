import Faults
import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The limits of a session", .timeLimit(.minutes(5)))
struct SessionLimitsTests {
    /// No socket is the point.
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer(.memory)
    }

    typealias Limits = URLSessionConfiguration.Limits

    private func load(
        _ url: URL, as form: LoadForm = .dataDelegate, _ change: (inout Limits) -> Void
    ) async throws -> Outcome {
        try await form.load(url) {
            $0.connector = server.connector
            change(&$0.limits)
        }
    }

    @Test("The default limits, and a copy of a configuration that has others")
    func standard() {
        let configuration = URLSessionConfiguration.default
        let limits = configuration.limits
        #expect(limits == Limits())
        #expect((limits.responseHeadBytes, limits.responseFields, limits.trailerBytes) == (65_536, 256, 16_384))
        #expect((limits.interimResponses, limits.redirects) == (100, 20))
        #expect((limits.collectedBytes, limits.lowestRate) == (nil, nil))
        #expect(limits.unacknowledgedTime == 120)
        configuration.limits.redirects = 3
        #expect((configuration.copy() as? URLSessionConfiguration)?.limits.redirects == 3)
    }

    // MARK: What a server sends

    private static let head = "HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nContent-Length: 0\r\n\r\n"
    private static let trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: 1\r\nB: 2\r\n\r\n"
    private static let interim = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"

    @Test(
        "A response at a limit is received, and one beyond it fails with its own code",
        arguments: [
            (head, \Limits.responseHeadBytes, head.utf8.count, .cannotParseResponse),
            (head, \Limits.responseFields, 3, .cannotParseResponse),
            (trailers, \Limits.responseFields, 2, .cannotParseResponse),
            (trailers, \Limits.trailerBytes, "A: 1\r\nB: 2\r\n\r\n".utf8.count, .cannotParseResponse),
            (interim + head, \Limits.interimResponses, 2, .badServerResponse),
        ] as [(String, WritableKeyPath<Limits, Int> & Sendable, Int, URLError.Code)])
    func sizes(
        response: String, limit: WritableKeyPath<Limits, Int> & Sendable, number: Int, code: URLError.Code
    ) async throws {
        let url = server.route("/", .raw(response))
        try await load(url) { $0[keyPath: limit] = number }.expectSuccess(Data())
        try await load(url) { $0[keyPath: limit] = number - 1 }.expectFailure(
            code, at: url)
    }

    @Test("As many redirects are followed as the limit allows", arguments: [0, 1, 3])
    func redirects(limit: Int) async throws {
        let url = server.route("/loop", .redirect(to: "/loop"))
        let outcome = try await load(url) { $0.redirects = limit }
        outcome.expectFailure(.httpTooManyRedirects, at: url)
        #expect(outcome.sentence == "The server redirected more than \(limit) times.")
        #expect(server.requests.count == limit + 1)
    }

    // MARK: Bodies in memory

    @Test("A body that is collected ends at the limit, announced or endless", arguments: [false, true])
    func collected(isAnnounced: Bool) async throws {
        let reply = Reply.generated(size: 1 << 40)
        let url = server.route("/endless", isAnnounced ? reply : reply.chunked(size: 10_000))
        for form in [LoadForm.dataHandler, .dataAsync] {
            let outcome = try await load(url, as: form) { $0.collectedBytes = 100_000 }
            outcome.expectFailure(.dataLengthExceedsMaximum, at: url)
            #expect(outcome.sentence == "The body has more than the 100000 bytes that may be collected in memory.")
        }
        await server.waitUntilDisconnected()
    }

    @Test("The limit of collected bodies is for collected bodies", arguments: LoadForm.allCases)
    func notCollected(form: LoadForm) async throws {
        let collects = form == .dataHandler || form == .dataAsync
        let body = Data("hello".utf8)
        let url = server.route("/", .text("hello"))
        let outcome = try await load(url, as: form) { $0.collectedBytes = collects ? 5 : 4 }
        outcome.expectSuccess(body)
    }

    // MARK: Slowness

    private static let rate = URLSessionConfiguration.LowestRate(bytesPerSecond: 100, interval: 30)

    private func slow(_ clock: ManualClock) -> (URLSessionConfiguration) -> Void {
        { configuration in
            configuration.clock = clock
            configuration.connector = server.connector
            configuration.timeoutIntervalForRequest = 3600
            configuration.limits.lowestRate = Self.rate
        }
    }

    @Test("A transfer below the lowest rate fails with timedOut", arguments: LoadForm.allCases)
    func tooSlow(form: LoadForm) async throws {
        let (clock, gate) = (ManualClock(), ServerGate())
        let url = server.route("/slow", .generated(size: 10_000).stalled(afterBytes: 2_999, until: gate))
        async let load = form.load(url, slow(clock))
        await gate.reached()
        // The request's time-out, and the next look at the rate.
        async let _: Void = clock.passTimeUntilCancelled(withDeadlines: 2)
        let outcome = try await load
        outcome.expectFailure(.timedOut, at: url)
        #expect(outcome.sentence == "The transfer moved fewer than 100 bytes a second for 30 seconds.")
    }

    @Test("A silence shorter than the interval of the lowest rate does not count")
    func shortSilence() async throws {
        let (clock, gate) = (ManualClock(), ServerGate())
        let url = server.route("/slow", .text("hello").stalled(at: .beforeHead, until: gate))
        async let load = LoadForm.dataDelegate.load(url, slow(clock))
        await gate.reached()
        clock.advance(by: .milliseconds(29_900))
        gate.open()
        try await load.expectSuccess(Data("hello".utf8))
    }

    @Test("The time for which a task is suspended does not count towards the lowest rate")
    func suspended() async throws {
        let (clock, gate) = (ManualClock(), ServerGate())
        let url = server.route("/slow", .text("hello").stalled(at: .beforeHead, until: gate))
        let configuration = URLSessionConfiguration.ephemeral
        slow(clock)(configuration)
        let witness = Witness()
        let session = URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        let task = session.dataTask(with: url).resumed()
        await gate.reached()
        task.suspend()
        for _ in 0..<50 {
            await clock.waitForDeadlines(2)
            clock.advanceToNextDeadline()
        }
        task.resume()
        gate.open()
        await witness.completion()
        #expect(task.error == nil)
        #expect(witness.data(of: task) == Data("hello".utf8))
        session.invalidateAndCancel()
    }
}
