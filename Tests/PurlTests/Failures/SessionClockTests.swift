import Faults
import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The clock of a session's configuration", .timeLimit(.minutes(5)))
struct SessionClockTests {
    private let gate = ServerGate()
    private let clock = ManualClock()
    /// Time stands still, and no socket is the point.
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer(.memory)
    }

    private func byClock(_ configuration: URLSessionConfiguration) {
        configuration.clock = clock
        configuration.connector = server.connector
    }

    private func oneMinute(_ configuration: URLSessionConfiguration) {
        byClock(configuration)
        configuration.timeoutIntervalForRequest = 60
    }

    @Test("The default clock is the system's")
    func standard() {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.clock == nil)
        configuration.clock = clock
        #expect((configuration.copy() as? URLSessionConfiguration)?.clock as? ManualClock === clock)
        configuration.clock = nil
        #expect(configuration.clock == nil)
    }

    @Test(
        "A silent server times out after timeoutIntervalForRequest of the session's clock", arguments: LoadForm.allCases
    )
    func requestTimeout(form: LoadForm) async throws {
        let url = server.route("/file", .text("hello").stalled(at: .beforeHead, until: gate))
        async let outcome = form.load(url, oneMinute)
        await gate.reached()
        clock.advance(by: .seconds(59))
        clock.advance(by: .seconds(1))
        try await outcome.expectFailure(.timedOut, at: url)
    }

    @Test("A response just before timeoutIntervalForRequest does not time out")
    func inTime() async throws {
        let url = server.route("/file", .text("hello").stalled(at: .beforeHead, until: gate))
        async let outcome = LoadForm.dataDelegate.load(url, oneMinute)
        await gate.reached()
        clock.advance(by: .milliseconds(59_999))
        gate.open()
        try await outcome.expectSuccess(Data("hello".utf8))
    }

    @Test("timeoutIntervalForResource is seven days of the session's clock, in spite of progress")
    func resourceTimeout() async throws {
        let url = server.route("/file", .text("hello").stalled(at: .beforeHead, until: gate))
        async let outcome = LoadForm.downloadDelegate.load(url) { configuration in
            byClock(configuration)
            configuration.timeoutIntervalForRequest = 0
        }
        await gate.reached()
        for _ in 0..<7 { clock.advance(by: .seconds(86_400)) }
        let failure = try await outcome
        failure.expectFailure(.timedOut, at: url)
        #expect(failure.sentence.contains("604800 seconds"))
    }

    @Test("Sessions that share a clock have the same times in a trace, to the nanosecond")
    func sharedClock() async throws {
        let url = server.route("/file", .text("hello"))
        let trace = TransferTrace()
        for _ in 1...2 {
            let configuration = URLSessionConfiguration.ephemeral
            byClock(configuration)
            configuration.trace = trace
            let session = URLSession(configuration: configuration)
            _ = try await session.data(from: url)
            session.finishTasksAndInvalidate()
            // The end of the call is recorded after the call has returned.
            await NetworkThread.settle()
            clock.advance(by: .milliseconds(1))
        }
        #expect(Set(trace.events.map(\.time)) == [.zero, .milliseconds(1)])
    }

    @Test("A task that waits for connectivity pauses by the session's clock")
    func redialling() async throws {
        let port = try DeadPort()
        // The pauses are 1, 2, 4, 8, 16 and 30 seconds; the last is longer than what is left.
        let outcome = try await clock.passTime {
            try await LoadForm.dataDelegate.load(port.url("/file")) {
                $0.clock = clock
                $0.waitsForConnectivity = true
                $0.timeoutIntervalForResource = 60
            }
        }
        outcome.expectFailure(.timedOut, at: port.url("/file"))
        #expect(clock.now.offset >= .seconds(60))
    }

    @Test("An idle connection expires by the session's clock")
    func idleConnections() async throws {
        let url = server.route("/file", .text("hello"))
        let configuration = URLSessionConfiguration.ephemeral
        byClock(configuration)
        let session = URLSession(configuration: configuration)
        for seconds in [0, 59, 61] {
            clock.advance(by: .seconds(seconds))
            _ = try await session.data(from: url)
        }
        #expect(server.requests.map(\.connection) == [1, 1, 2])
        session.invalidateAndCancel()
    }

    @Test("A body with Expect: 100-continue is sent after a second of the session's clock")
    func expectation() async throws {
        let url = server.route("/file", .text("hello").ignoringExpectation())
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = Data("body".utf8)
        request.setValue("100-continue", forHTTPHeaderField: "Expect")
        async let outcome = LoadForm.dataDelegate.load(request, byClock)
        await server.wait { $0.requests.count == 1 }
        #expect(server.requests[0].bodyBytesReceived == 0)
        clock.advance(by: .seconds(1))
        try await outcome.expectSuccess(Data("hello".utf8))
    }
}
