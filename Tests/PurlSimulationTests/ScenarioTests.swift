import PurlSimulation
import Scenarios
import Testing

@Suite struct ScenarioTests {
    /// What an everyday run takes for each scenario; `SEEDS` in the environment asks for more.
    private static let seeds = Seeds.some(3)

    @Test(arguments: Scenario.all, seeds)
    func everythingHolds(scenario: Scenario, seed: Seed) throws {
        try scenario.run(seed)
    }

    /// Each has once shown a fault.
    @Test(arguments: [
        ("managed-downloads", 5961), ("invalidated-session", 4083), ("appended-file", 403229),
        ("appended-file", 410012), ("several-connections", 4_101_766), ("managed-downloads", 4_100_463),
        ("several-connections", 5_512_651), ("managed-downloads", 17_031_213), ("relaunched-download", 25_016_755),
        ("mirrored-download", 70_306_886),
    ])
    func whatOnceFailedHolds(scenario: String, seed: UInt64) throws {
        try #require(Scenario.named(scenario)).run(Seed(seed))
    }

    @Test(arguments: Scenario.all)
    func aSeedMakesTheSameStoryTwice(scenario: Scenario) throws {
        let (first, second) = (try scenario.run(17), try scenario.run(17))
        #expect(first.digest == second.digest)
        #expect(first.story == second.story)
    }

    @Test func aScenarioIsFoundByItsName() {
        #expect(Scenario.all.allSatisfy { Scenario.named($0.name)?.name == $0.name })
        #expect(Set(Scenario.all.map(\.name)).count == Scenario.all.count)
        #expect(Scenario.named("none") == nil)
    }
}
