import Faults
import Testing

@testable import SessionFixtures

/// A part of the fault matrix: some kinds of task for each fault, others for the next. The program `FaultMatrix` runs
/// every cell, and counts what they leave of descriptors and threads, which belong to the whole process.
@Suite("Every failure is reported once, with a reason, on the right queue, and leaves nothing behind", .serialized)
struct FaultMatrixTests {
    @Test(
        "Each fault is reported by every kind of task", .timeLimit(.minutes(5)),
        arguments: FaultMatrix.faults.filter { !$0.isProcessWide }, Medium.allCases)
    func fault(_ fault: Fault, over medium: Medium) async {
        for cell in FaultMatrix.cells(of: [fault], over: medium) where Self.isChosen(cell, medium) {
            for problem in await cell.run() { Issue.record("\(cell): \(problem)") }
        }
    }

    /// Those of the feigned layer of TLS are run here alone.
    private static func isChosen(_ cell: Cell, _ medium: Medium) -> Bool {
        let number = cell.description.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
        return number % (medium == .secure ? 100 : 300) == 0
    }
}
