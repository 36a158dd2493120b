import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The phases of a transfer")
struct TransferTransitionTests {
    static let beginnings: [(TransferPhase, delay: TransferPhase?, ask: TransferPhase?, open: TransferPhase?)] = [
        (.created, .delayed, .asking, .opening),
        (.delayed, .delayed, .asking, .opening),
        (.asking, nil, nil, .opening),
        (.opening, nil, nil, nil),
        (.loading, nil, nil, .opening),
        (.finishing, nil, nil, nil),
        (.stopping, nil, nil, nil),
        (.concluded, nil, nil, nil),
    ]

    @Test("The phases before the first transaction follow the table", arguments: beginnings)
    func beginning(phase: TransferPhase, delay: TransferPhase?, ask: TransferPhase?, open: TransferPhase?) {
        #expect(phase.after(.delay) == delay)
        #expect(phase.after(.ask) == ask)
        #expect(phase.after(.open) == open)
    }

    static let ends: [(TransferPhase, load: TransferPhase?, finish: TransferPhase?, fail: TransferPhase?)] = [
        (.created, .loading, nil, .stopping),
        (.delayed, .loading, nil, .stopping),
        (.asking, .loading, nil, .stopping),
        (.opening, .loading, .finishing, .stopping),
        (.loading, .loading, .finishing, .stopping),
        (.finishing, nil, nil, nil),
        (.stopping, nil, nil, nil),
        (.concluded, nil, nil, nil),
    ]

    @Test("Loading leads to success or failure", arguments: ends)
    func loading(phase: TransferPhase, load: TransferPhase?, finish: TransferPhase?, fail: TransferPhase?) {
        #expect(phase.after(.load) == load)
        #expect(phase.after(.finish) == finish)
        #expect(phase.after(.fail) == fail)
    }

    @Test(
        "Only a storage that cannot keep the whole body turns success into failure", arguments: TransferPhase.allCases)
    func failingToStore(phase: TransferPhase) {
        #expect(phase.after(.failToStore) == (phase == .finishing ? .stopping : nil))
    }

    @Test("A transfer concludes once, after it has finished or stopped", arguments: TransferPhase.allCases)
    func concluding(phase: TransferPhase) {
        #expect(phase.after(.conclude) == ([.finishing, .stopping].contains(phase) ? .concluded : nil))
    }

    @Test("A concluded transfer stays concluded", arguments: TransferEvent.allCases)
    func concluded(event: TransferEvent) {
        #expect(TransferPhase.concluded.after(event) == nil)
    }
}
