import Census
import Faults
import Foundation

/// Thousands of transfers of mixed outcomes, in sessions that last: what they leave would add up.
struct Endurance {
    /// More memory than this at the end than in the middle is a leak, a kilobyte for each transfer. malloc's slack comes
    /// and goes by less, if threads share one arena (`MALLOC_ARENA_MAX=1`); otherwise each new one takes some for good.
    private static let slack = 4 << 20

    let transfers: Int
    let medium: Medium

    /// Prints a census from time to time, and at the end whether anything has grown.
    ///
    /// - Returns: Whether nothing has.
    func print() async -> Bool {
        let first = await leg(transfers / 5)
        let before = await Census.settled(after: .now)
        Swift.print("after \(first.transfers) transfers: \(before)")
        var tally = first
        var middle = before
        for number in 2...5 {
            tally.add(await leg(transfers / 5))
            let census = await Census.settled(after: before)
            if number == 3 { middle = census }
            Swift.print("after \(tally.transfers) transfers: \(census)")
        }
        let after = await Census.settled(after: before)
        for (outcome, count) in tally.outcomes.sorted(by: { $0.value > $1.value }) {
            Swift.print("\(count) × \(outcome)")
        }
        let isClean =
            after.descriptors <= before.descriptors && after.threads <= before.threads
            && after.memory <= middle.memory + Self.slack
        Swift.print("\(tally.transfers) transfers, \(isClean ? "nothing left behind" : "FAILED: something is left")")
        return isClean
    }

    private func leg(_ count: Int) async -> Marathon.Tally {
        await Marathon(transfers: count, over: medium).run()
    }
}
