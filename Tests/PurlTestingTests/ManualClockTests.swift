import PurlTesting
import Testing

@Suite("The manual clock", .timeLimit(.minutes(5)))
struct ManualClockTests {
    private let clock = ManualClock()

    @Test("The clock stands still until it is advanced")
    func standsStill() {
        #expect(clock.now.offset == .zero)
        clock.advance(by: .seconds(5))
        clock.advance(by: .seconds(-3))
        #expect(clock.now.offset == .seconds(5))
        #expect(clock.now.advanced(by: .seconds(2)).duration(to: clock.now) == .seconds(-2))
    }

    @Test("A sleeping task wakes at its deadline, and not before")
    func sleeping() async throws {
        let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(9))
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(1))
        #expect(clock.sleepers == 0)
        try await sleeper.value
    }

    @Test("Sleeping until a moment in the past returns at once")
    func pastDeadline() async throws {
        clock.advance(by: .seconds(10))
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(9)))
    }

    @Test("Advancing to the next deadline wakes all tasks that sleep until then")
    func deadlines() async throws {
        let sleepers = [7, 3, 3].map { seconds in Task { try await clock.sleep(for: .seconds(seconds)) } }
        await clock.waitForSleepers(3)
        await clock.waitForDeadlines(3)
        #expect(clock.advanceToNextDeadline() == .seconds(3))
        #expect(clock.sleepers == 1)
        #expect(clock.advanceToNextDeadline() == .seconds(4))
        #expect(clock.advanceToNextDeadline() == nil)
        for sleeper in sleepers { try await sleeper.value }
    }

    @Test("A cancelled sleep throws, and no longer counts as sleeping")
    func cancelled() async {
        let sleeper = Task { try await clock.sleep(for: .seconds(10)) }
        await clock.waitForSleepers()
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleepers == 0)
    }
}
