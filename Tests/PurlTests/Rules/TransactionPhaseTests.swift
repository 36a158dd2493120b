import Testing

@testable import Purl

@Suite("The phases of a transaction")
struct TransactionPhaseTests {
    static let table: [(TransactionPhase, next: Set<TransactionPhase>)] = [
        (.parked, [.parked, .preparing, .exchanging, .conversing, .ended]),
        (.preparing, [.parked, .preparing, .acquiring, .exchanging, .ended]),
        (.acquiring, [.parked, .exchanging, .conversing, .ended]),
        (.exchanging, [.parked, .preparing, .exchanging, .leaving, .conversing, .received, .ended]),
        (.leaving, [.parked, .ended]),
        (.conversing, [.ended]),
        (.received, [.preparing, .ended]),
        (.ended, []),
    ]

    @Test("Each phase precedes those of the table, and no other", arguments: table)
    func order(phase: TransactionPhase, next: Set<TransactionPhase>) {
        #expect(Set(TransactionPhase.allCases.filter { phase.precedes($0) }) == next)
    }
}
