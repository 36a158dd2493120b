import Synchronization

/// A call that has to be answered, once.
final class Question: Sendable {
    private let name: String
    private let ledger: Ledger
    private let isAnswered = Mutex(false)

    init(_ name: String, _ ledger: Ledger) {
        self.name = name
        self.ledger = ledger
    }

    func answer() {
        let isFirst = isAnswered.withLock { isAnswered in
            defer { isAnswered = true }
            return !isAnswered
        }
        if isFirst { ledger.answered(name) } else { ledger.note("\(name) was answered twice") }
    }
}
