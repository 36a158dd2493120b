import Foundation
internal import PurlConnections
internal import PurlIO

/// A read, a write or another call of the user's that waits for its turn.
@NetworkActor
final class StreamOperation {
    /// Receives the bytes, and whether they are the last.
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
    /// Identifies a read that can be cancelled.
    let token: ReceiveToken?
    /// When the operation fails unless it has finished; `nil` for no limit.
    private(set) var deadline: MonotonicTime?
    /// How many bytes of a write the system has taken.
    private(set) var sent = 0
    /// Whether it has been answered: it is then skipped when it becomes the first.
    private(set) var isOver = false

    init(_ kind: Kind, token: ReceiveToken? = nil) {
        self.kind = kind
        self.token = token
    }

    var isReading: Bool {
        if case .read = kind { return true }
        return false
    }

    /// The bytes of a write that the system has not taken.
    var unsent: Int {
        if case .write(let data, _) = kind { return data.count - sent }
        return 0
    }

    func setDeadline(_ deadline: MonotonicTime) {
        self.deadline = deadline
    }

    /// The system accepted this many more bytes of a write.
    func addSent(_ count: Int) {
        sent += count
    }

    func finish(with bytes: Data?, isLast: Bool) {
        guard end(), case .read(_, _, let receiver) = kind else { return }
        receiver(.success((bytes, isLast)))
    }

    /// A barrier has been passed.
    func pass() {
        _ = end()
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

/// The operations of one direction that wait for their turn.
@NetworkActor
struct StreamOperationQueue {
    private var operations = Queue<StreamOperation>()

    nonisolated init() {}

    /// How many wait, those included that have been answered before their turn.
    var count: Int { operations.count }

    subscript(position: Int) -> StreamOperation? { operations[position] }

    /// The operations that have not been answered.
    var pending: [StreamOperation] {
        (0..<operations.count).compactMap { operations[$0] }.filter { !$0.isOver }
    }

    mutating func append(_ operation: StreamOperation) {
        operations.append(operation)
    }

    /// The first operation that has not been answered; it stays in the queue until it is, or is removed.
    mutating func next() -> StreamOperation? {
        while let first = operations.first, first.isOver { operations.removeFirst() }
        return operations.first
    }

    mutating func removeFirst() {
        operations.removeFirst()
    }
}

/// The time limits of reads and writes. Their time runs from the call, but not while the task is suspended.
@NetworkActor
final class StreamDeadlines {
    typealias Alarm = @Sendable @NetworkActor () -> Void

    private enum Time {
        /// Nothing has had a limit since time stopped counting.
        case paused
        case stopped(since: MonotonicTime)
        case running
    }

    private let clock: SessionClock
    private var time = Time.paused
    private var alarm: (timer: SessionTimer, moment: MonotonicTime)?

    nonisolated init(_ clock: SessionClock) {
        self.clock = clock
    }

    /// Gives an operation a limit.
    ///
    /// - Parameters:
    ///   - timeout: `nil` for no limit.
    ///   - onAlarm: Called when an operation may have had its time.
    func limit(_ operation: StreamOperation, to timeout: Duration?, onAlarm: @escaping Alarm) {
        guard let timeout else { return }
        switch time {
        case .running:
            let deadline = clock.now + timeout
            operation.setDeadline(deadline)
            wake(at: deadline, onAlarm)
        case .stopped(let moment):
            operation.setDeadline(moment + timeout)
        case .paused:
            let now = clock.now
            time = .stopped(since: now)
            operation.setDeadline(now + timeout)
        }
    }

    /// Stops the time of all limits.
    func stop() {
        time = .stopped(since: clock.now)
        cancel()
    }

    /// Time passes again. All deadlines move by the time that did not count.
    func start(_ operations: [StreamOperation], onAlarm: @escaping Alarm) {
        var pause = Duration.zero
        if case .stopped(let moment) = time { pause = clock.now - moment }
        time = .running
        for operation in operations {
            guard let deadline = operation.deadline else { continue }
            operation.setDeadline(deadline + pause)
            wake(at: deadline + pause, onAlarm)
        }
    }

    /// Those operations that have had their time; looks at the others when the first of them has.
    func expired(among operations: [StreamOperation], onAlarm: @escaping Alarm) -> [StreamOperation] {
        alarm = nil
        guard case .running = time else { return [] }
        let now = clock.now
        var expired: [StreamOperation] = []
        for operation in operations {
            guard let deadline = operation.deadline else { continue }
            if deadline <= now { expired.append(operation) } else { wake(at: deadline, onAlarm) }
        }
        return expired
    }

    /// Cancels the timer: no limit is watched any longer.
    func cancel() {
        alarm?.timer.cancel()
        alarm = nil
    }

    private func wake(at moment: MonotonicTime, _ onAlarm: @escaping Alarm) {
        if let alarm {
            if alarm.moment <= moment { return }
            alarm.timer.cancel()
        }
        alarm = (clock.schedule(after: max(moment - clock.now, .zero), onAlarm), moment)
    }
}
