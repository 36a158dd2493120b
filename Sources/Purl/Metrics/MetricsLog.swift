import Foundation
internal import PurlIO

/// The requests of one task, in the order in which they were made. Kept only where a delegate may want to hear.
@NetworkActor
final class MetricsLog {
    private var earlier: [TransactionRecord] = []
    /// The request of the moment.
    private(set) var current: TransactionRecord

    init(_ request: URLRequest) {
        current = TransactionRecord(request)
    }

    /// A request is about to be made: a new record, unless the last one's has not gone out yet.
    func begin(_ request: URLRequest) {
        guard current.hasBegun else { return }
        current.noteEnd()
        earlier.append(current)
        current = TransactionRecord(request)
    }

    /// All of them, at the task's end.
    func finish() -> [TransactionRecord.Values] {
        current.noteEnd()
        return (earlier + [current]).map(\.values)
    }
}
