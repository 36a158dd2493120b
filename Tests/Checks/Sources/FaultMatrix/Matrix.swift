import Census
import Faults
import Foundation
import PurlSimulation

/// Every cell of some sections, and what they leave behind.
struct Matrix {
    /// How many cells run side by side.
    private static let width = 6

    let sections: [FaultMatrix.Section]
    let medium: Medium
    /// With which each cell runs that is simulated.
    var seeds: ClosedRange<UInt64> = 1...1

    /// Prints a line for each section as it finishes, then every failure, then the sums.
    ///
    /// - Returns: Whether there was no failure.
    func print() async -> Bool {
        // What is created once and kept, such as the network thread, is no leak.
        let all = FaultMatrix.cells(of: FaultMatrix.sections.flatMap(\.faults), over: medium)
        _ = await run(Array(all.prefix(100)))
        let before = await Census.settled(after: .now)
        var failures: [Failure] = []
        var count = 0
        Swift.print("cells  failures  seconds  left behind")
        for section in sections {
            let cells = FaultMatrix.cells(of: section.faults, over: medium)
            let start = ContinuousClock.now
            let new = await run(cells.filter { !$0.fault.isProcessWide }) + Self.runAlone(cells)
            let census = await Census.settled(after: before, countingThreads: false)
            let time = start.duration(to: .now)
            let row = [
                Self.column("\(cells.count)", 5), Self.column("\(new.count)", 8),
                Self.column("\(time.components.seconds)", 7), Self.column(Self.growth(from: before, to: census), 11),
            ]
            Swift.print(row.joined(separator: "  ") + "  " + section.name)
            failures += new
            count += cells.count
        }
        for failure in failures {
            Swift.print("✘ \(failure.cell): \(failure.problems.joined(separator: "; "))")
        }
        let after = await Census.settled(after: before)
        Swift.print("before: \(before); after: \(after)")
        let isClean = after.descriptors <= before.descriptors && after.threads <= before.threads
        Swift.print(
            "\(count) cells, \(failures.count) failures, \(isClean ? "nothing left behind" : "FAILED: something is left")"
        )
        return failures.isEmpty && isClean
    }

    private struct Failure {
        let cell: Cell
        let problems: [String]
    }

    private func run(_ cells: [Cell]) async -> [Failure] {
        await withTaskGroup(of: Failure.self) { group in
            var failures: [Failure] = []
            var waiting = cells[...]
            for _ in 0..<Self.width {
                if let cell = waiting.popFirst() { group.addTask { await outcome(of: cell) } }
            }
            while let result = await group.next() {
                if !result.problems.isEmpty { failures.append(result) }
                if let cell = waiting.popFirst() { group.addTask { await outcome(of: cell) } }
            }
            return failures
        }
    }

    /// Runs a cell with one seed after the other until it fails.
    private func outcome(of cell: Cell) async -> Failure {
        for seed in seeds {
            let problems = await cell.run(Seed(seed))
            if !problems.isEmpty { return Failure(cell: cell, problems: problems) }
        }
        return Failure(cell: cell, problems: [])
    }

    /// Cells that affect the whole process, and so run alone.
    private static func runAlone(_ cells: [Cell]) async -> [Failure] {
        var failures: [Failure] = []
        for cell in cells where cell.fault.isProcessWide {
            let problems = await cell.run()
            if !problems.isEmpty { failures.append(Failure(cell: cell, problems: problems)) }
        }
        return failures
    }

    private static func growth(from before: Census, to after: Census) -> String {
        let descriptors = after.descriptors - before.descriptors
        return descriptors <= 0 ? "nothing" : "\(descriptors)"
    }

    private static func column(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
