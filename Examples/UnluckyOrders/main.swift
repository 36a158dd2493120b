import Foundation
import PurlSimulation

// swift run UnluckyOrders [SEED]

/// What must not happen.
struct OrderedTwice: Error, CustomStringConvertible {
    let count: Int
    var description: String { "tea was ordered \(count) times" }
}

/// One buyer, one shop, and connections that are lost. The seed decides when.
func buyTea(key: String?, _ seed: Seed) throws(SimulationFailure) -> Simulation.Report {
    try Simulation(seed).run { world in
        let shop = Shop()
        let orders = world.server("shop.example").route("/orders", method: "POST", .computed { shop.take($0) })
        world.chaos = .resets
        // To fail is allowed: the buyer sees it.
        try? await order("tea", key: key, at: orders)
        guard shop.orderCount <= 1 else { throw OrderedTwice(count: shop.orderCount) }
    }
}

/// Goes through the seeds up to the first with which something goes wrong.
func firstFailure(key: String?, _ seeds: ClosedRange<UInt64>) -> SimulationFailure? {
    for seed in seeds {
        do {
            _ = try buyTea(key: key, Seed(seed))
        } catch {
            return error
        }
    }
    return nil
}

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count <= 1, arguments.allSatisfy({ UInt64($0) != nil }) else {
    print("usage: UnluckyOrders [SEED]")
    exit(64)
}
let seeds = arguments.first.flatMap { UInt64($0) }.map { $0...$0 } ?? 1...500

for key in [nil, "tea-1"] {
    print(key.map { "With the key \($0):" } ?? "Without a key:")
    if let failure = firstFailure(key: key, seeds) {
        print("  seed \(failure.seed): \(failure.reason)")
        for line in failure.report.lines { print("  \(line)") }
    } else {
        print("  tea is ordered once at most with each of \(seeds.count) seeds")
    }
}
