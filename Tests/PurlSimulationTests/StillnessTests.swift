import Testing

@testable import PurlSimulation

@Suite("How long a step has taken by the real clock")
struct StillnessTests {
    /// Questions, and the answer to the last one: each is so many seconds after the one before it.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let questions: [(seconds: Int, step: Int)]
        let seconds: Int
    }

    @Test(
        "The time between questions counts, but not that of a process which is stopped",
        arguments: [
            Case(testDescription: "the first step", questions: [(1, 0), (1, 0), (1, 0)], seconds: 3),
            Case(testDescription: "the next step", questions: [(1, 0), (1, 0), (1, 1)], seconds: 0),
            Case(testDescription: "a step among others", questions: [(1, 5), (1, 9), (1, 9), (1, 9)], seconds: 2),
            Case(testDescription: "stopped for an hour", questions: [(1, 4), (3600, 4), (1, 4)], seconds: 3),
            Case(testDescription: "stopped at once", questions: [(3600, 0)], seconds: 2),
        ])
    func rows(row: Case) {
        var now = ContinuousClock.now
        var stillness = Stillness(from: now)
        var answer = Duration.zero
        for question in row.questions {
            now += .seconds(question.seconds)
            answer = stillness.of(question.step, at: now)
        }
        #expect(answer == .seconds(row.seconds))
    }
}
