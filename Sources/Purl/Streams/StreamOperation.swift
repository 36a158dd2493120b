import Foundation
internal import PurlIO

/// A call of the user's that waits for its turn.
@NetworkActor
final class StreamOperation {
    /// The bytes, and whether they are the last.
    typealias Receiver = @Sendable (Result<(Data?, Bool), any Error>) -> Void
    typealias Handler = @Sendable ((any Error)?) -> Void

    /// What waits for the reads and the writes that were asked for before it.
    enum Barrier {
        case captureStreams
        case secureConnection
    }

    enum Kind {
        case read(minimum: Int, maximum: Int, Receiver)
        case write(Data, Handler)
        case close
        case barrier(Barrier)
    }

    let kind: Kind
    /// For whoever may give up a read.
    let ticket: ReceiverTicket?
    /// Until when it has to have come about.
    var deadline: MonotonicTime?
    /// How much of a write the system has.
    var sent = 0
    /// It has been answered, and is left out when its turn comes.
    private(set) var isOver = false

    init(_ kind: Kind, ticket: ReceiverTicket? = nil) {
        self.kind = kind
        self.ticket = ticket
    }

    var isReading: Bool {
        if case .read = kind { return true }
        return false
    }

    /// Of a write, what the system does not have.
    var unsent: Int {
        if case .write(let data, _) = kind { return data.count - sent }
        return 0
    }

    func finish(with bytes: Data?, isLast: Bool) {
        guard end(), case .read(_, _, let receiver) = kind else { return }
        receiver(.success((bytes, isLast)))
    }

    func finish() {
        guard end(), case .write(_, let handler) = kind else { return }
        handler(nil)
    }

    func fail(_ error: any Error) {
        guard end() else { return }
        switch kind {
        case .read(_, _, let receiver): receiver(.failure(error))
        case .write(_, let handler): handler(error)
        case .close, .barrier: break
        }
    }

    private func end() -> Bool {
        defer { isOver = true }
        return !isOver
    }
}
