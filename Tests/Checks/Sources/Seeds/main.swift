import Foundation
import PurlSimulation
import Scenarios

// Seeds [options] [SCENARIO …]: runs scenarios of simulations with one seed after another.

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: Seeds [--first SEED] [--count SEEDS] [--step N] [--seconds S] [--traces] [--stories] [--story]
                     [--summary] [--all] [--until-failure] [SCENARIO ...]

          --first SEED   the first seed, 1 by default
          --count SEEDS  how many, 100 by default
          --step N       every Nth seed, so that several processes share them
          --seconds S    no seed begins later than that
          --traces       prints the digest and a hash of the story of each simulation
          --stories      prints the whole story of each simulation
          --story        prints the whole story of a failure, with the fewest faults
          --summary      prints how long the shortest story of a failure is
          --all          runs every scenario with each seed; by default a seed runs one, in turn
          --until-failure  stops at the first failure

        The scenarios are \(Scenario.all.map(\.name).joined(separator: ", ")).
        """

    var first: UInt64 = 1
    var count: UInt64 = 100
    var step: UInt64 = 1
    var seconds = Double.infinity
    var printsTraces = false
    var printsStories = false
    var printsStory = false
    var summarises = false
    var runsAll = false
    var stopsAtFailure = false
    var scenarios: [Scenario] = []

    init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--traces": printsTraces = true
            case "--stories": printsStories = true
            case "--story": printsStory = true
            case "--summary": summarises = true
            case "--all": runsAll = true
            case "--until-failure": stopsAtFailure = true
            case "--first", "--count", "--step":
                guard let number = rest.popFirst().flatMap({ UInt64($0) }), number > 0 else { return nil }
                if argument == "--first" {
                    first = number
                } else if argument == "--count" {
                    count = number
                } else {
                    step = number
                }
            case "--seconds":
                guard let number = rest.popFirst().flatMap({ Double($0) }) else { return nil }
                seconds = number
            default:
                guard let scenario = Scenario.named(argument) else { return nil }
                scenarios.append(scenario)
            }
        }
        if scenarios.isEmpty { scenarios = Scenario.all }
    }

    /// The scenarios that a seed runs.
    func scenarios(of seed: UInt64) -> [Scenario] {
        runsAll ? scenarios : [scenarios[Int(seed % UInt64(scenarios.count))]]
    }
}

/// FNV-1a of a text.
func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
}

func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

func tell(_ failure: SimulationFailure, of scenario: Scenario, with seed: Seed, _ options: Options) {
    print("FAILED - \(scenario) with seed \(seed): \(failure.reason)")
    if options.summarises {
        let shortest = scenario.shortestFailure(seed) ?? failure
        print("FOUND", scenario, seed, shortest.report.steps, shortest.report.faults.count)
    }
    if options.printsStory { print(scenario.shortestFailure(seed) ?? failure) }
    // It is seen when it happens, also in a file.
    fflush(nil)
}

guard let options = Options(Array(CommandLine.arguments.dropFirst())) else {
    print(Options.usage)
    exit(64)
}
let clock = ContinuousClock()
let start = clock.now
var (runs, failures, steps, simulated) = (0, 0, 0, Duration.zero)
var times: [String: Duration] = [:]
seeds: for number in 0..<options.count where number % options.step == 0 {
    if (clock.now - start) / .seconds(1) > options.seconds { break }
    let seed = Seed(options.first + number)
    for scenario in options.scenarios(of: seed.value) {
        let begin = clock.now
        var report: Simulation.Report
        var hasFailed = false
        do {
            report = try scenario.run(seed)
        } catch {
            report = error.report
            hasFailed = true
            failures += 1
            tell(error, of: scenario, with: seed, options)
        }
        runs += 1
        steps += report.steps
        simulated += report.duration
        times[scenario.name, default: .zero] += clock.now - begin
        if options.printsTraces {
            print(scenario, seed, hexadecimal(report.digest), hexadecimal(hash(report.story)), report.lines.count)
        }
        if options.printsStories { print(report.story) }
        if hasFailed, options.stopsAtFailure { break seeds }
    }
}
let seconds = (clock.now - start) / .seconds(1)
if !options.printsTraces, !options.printsStories {
    for (name, time) in times.sorted(by: { $0.value > $1.value }) { print("\(name): \(time / .seconds(1)) s") }
    print(
        "\(runs) simulations, \(failures) failures, \(steps) steps, \(simulated / .seconds(3_600)) simulated hours,",
        "\(seconds) s: \(Double(runs) / seconds) a second")
}
exit(failures == 0 ? 0 : 1)
