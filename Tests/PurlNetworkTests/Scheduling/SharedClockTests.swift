import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("One manual clock for a session and the program", .timeLimit(.minutes(5)))
struct SharedClockTests {
    private let sandbox = Sandbox()
    private let observer = TaskWitness()

    @Test("A session's time-outs are deadlines of the clock, and only the program's own tasks are sleepers")
    func sleepers() async throws {
        let server = try LoopbackServer()
        let (clock, gate) = (ManualClock(), ServerGate())
        let url = server.route("/slow", .text("hello").stalled(at: .beforeHead, until: gate))
        sandbox.session(observer) { $0.clock = clock }.dataTask(with: url).resume()
        await gate.reached()
        await clock.waitForDeadlines()
        #expect(clock.sleepers == 0)
        let pause = Task { try await clock.sleep(for: .seconds(5)) }
        await clock.waitForSleepers()
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(5))
        try await pause.value
        gate.open()
        await observer.completion()
        #expect(observer.events.last == .completed(nil))
    }
}
