public import Foundation
internal import PurlIO
import Synchronization

/// Records what happens to transfers, in order: calls of the program, messages to the network thread, connections, heads and
/// bodies, back-pressure, decisions, files, and calls of the delegate.
///
/// ```swift
/// let trace = TransferTrace()
/// configuration.trace = trace
/// // … load something …
/// for event in trace.events { print(event) }
/// ```
///
/// Set it as ``URLSessionConfiguration/trace`` for all tasks of a session, or as ``URLSessionTask/trace`` for one. Times are
/// those of the session's ``URLSessionConfiguration/clock``. The product `PurlTrace` makes text, diagrams and files for
/// other tools of it.
///
/// Its memory is bounded by ``Options``. What has no room is counted, not kept. Credentials, cookies and the users in URLs are
/// replaced by a mark when they are recorded, unless ``Options/keepsSecrets`` is set.
public final class TransferTrace: Sendable {
    /// What is recorded, and how much of it.
    public struct Options: Sendable, Hashable {
        /// How many events are kept. Pieces of bodies and the events that come with them may use three quarters of it, so
        /// that there is room for the end of a long transfer. 20,000 by default.
        public var maximumEvents = 20_000
        /// How many bytes of each body are kept, of those sent and of those received. 0, the default, keeps their counts
        /// alone.
        public var maximumContent = 0
        /// How many bytes of all bodies together are kept. 16 MiB by default.
        public var maximumTotalContent = 16 << 20
        /// Whether credentials, cookies and the users in URLs are recorded as they are. `false` by default.
        public var keepsSecrets = false
        /// The date of the first event; `nil`, the default, is the current date when it is recorded.
        public var startDate: Date?

        /// The default options.
        public init() {}
    }

    /// What a trace has recorded: a value that can be saved.
    public struct Recording: Sendable, Hashable, Codable {
        /// The date of the first event.
        public var startDate: Date
        /// The events, ordered by time, and by cause where times are equal.
        public var events: [Event]
        /// How many events were not kept, for lack of room.
        public var droppedEvents: Int
        /// How many bytes of bodies were not kept that ``Options/maximumContent`` would have allowed.
        public var droppedBytes: Int

        /// A recording.
        ///
        /// - Parameters:
        ///   - startDate: The date of the first event.
        ///   - events: The events, in order.
        ///   - droppedEvents: How many events were not kept.
        ///   - droppedBytes: How many bytes were not kept.
        public init(startDate: Date, events: [Event], droppedEvents: Int = 0, droppedBytes: Int = 0) {
            self.startDate = startDate
            self.events = events
            self.droppedEvents = droppedEvents
            self.droppedBytes = droppedBytes
        }
    }

    /// What the recorder works by.
    public let options: Options
    private let state: Mutex<TraceRecorder>

    /// An empty trace.
    ///
    /// - Parameter options: What is recorded, and how much of it.
    public init(options: Options = Options()) {
        self.options = options
        state = Mutex(TraceRecorder(options))
    }

    /// The events so far, ordered by time, and by cause where times are equal: what one thread does stays in its order, and
    /// follows what has caused it on another.
    public var events: [Event] { recording.events }

    /// Everything so far.
    public var recording: Recording { state.withLock { $0 }.recording }

    /// Forgets what has been recorded. The next event is at time zero.
    public func removeAll() {
        state.withLock { $0 = TraceRecorder(options) }
    }

    /// Adds a remark at the current time.
    ///
    /// - Parameters:
    ///   - text: What is shown.
    ///   - lane: Where it happened; `.server` for what a test's server has done.
    public func note(_ text: String, in lane: Lane = .caller) {
        let clock = state.withLock { $0.clock }
        record(Draft(kind: .note(text), lane: lane), at: clock.reading)
    }

    // MARK: For the recording places

    /// Adds an event.
    func record(_ event: Draft, at time: MonotonicTime) {
        state.withLock { $0.add(event, at: time) }
    }

    /// Remarks have the times of this clock from now on.
    func use(_ clock: SessionClock) {
        state.withLock { $0.clock = clock }
    }

    /// A number for a delegate call.
    func nextCall() -> Int { state.withLock { $0.nextCall() } }

    /// A number for an exchange.
    func nextExchange() -> Int { state.withLock { $0.nextExchange() } }

    /// The trace's number for a connection.
    func number(of connection: UInt64) -> Int { state.withLock { $0.number(of: connection) } }

    /// How many of `count` bytes of a body may be kept; they count as kept.
    func reserve(_ count: Int) -> Int { state.withLock { $0.reserve(count) } }

    /// The thread that calls has begun a call of the delegate, or has ended it.
    func setMakesCall(_ makesCall: Bool) {
        let thread = NativeThread.current
        state.withLock { $0.setMakesCall(makesCall, thread) }
    }

    /// The lane of the thread that calls a task's method.
    var laneOfCaller: Lane {
        let thread = NativeThread.current
        return state.withLock { $0.makesCall(thread) } ? .delegateQueue : .caller
    }
}

extension TransferTrace {
    /// Names what is caused on another lane.
    enum Token: Hashable, Sendable {
        case call(task: Int, TaskCall)
        case delegateCall(Int)
        case answer(task: Int, DelegateMethod)
        /// The storage of a body begins, to be emptied where it held another version.
        case storing(task: Int)
        /// Bytes of a body wait to be written.
        case bytes(task: Int)
        /// No more bytes follow.
        case ending(task: Int)
        /// Bytes have been written.
        case written(task: Int)
    }

    /// An event before it has its place.
    struct Draft: Sendable {
        var kind: Kind
        var lane = Lane.network
        var task: Int?
        var exchange: Int?
        var connection: Int?
        /// What has caused it.
        var cause: Token?
        /// What it causes.
        var effect: Token?
    }
}

/// The state of a trace.
///
/// Threads record at the same time, so with a clock that stands still their order would be another in every run. Therefore
/// each event has a logical time as well (Lamport's): later than what came before on its lane, and than what has caused it.
private struct TraceRecorder: Sendable {
    private struct Entry {
        let nanoseconds: Int64
        let logicalTime: Int
        let event: TransferTrace.Draft
    }

    private let options: TransferTrace.Options
    /// The clock of the session that was traced last.
    var clock = SessionClock.system
    private var start: MonotonicTime?
    private var startDate: Date?
    private var latest = MonotonicTime(nanoseconds: .min)
    private var entries: [Entry] = []
    private var logicalTimes = [Int](repeating: 0, count: TransferTrace.Lane.allCases.count)
    /// What may follow, oldest first, and the logical times of the causes. There are few at a time.
    private var causes: [(token: TransferTrace.Token, time: Int)] = []
    /// The tasks whose bodies go into files: only there are bytes waited for.
    private var storingTasks: Set<Int> = []
    private var calls = 0
    private var exchanges = 0
    private var connections: [UInt64: Int] = [:]
    private var callingThreads: Set<UInt> = []
    /// How many effects are waited for: not every one comes, since writes of several pieces are one.
    private static let maximumCauses = 64
    private var keptBytes = 0
    private var droppedEvents = 0
    private var droppedBytes = 0

    init(_ options: TransferTrace.Options) {
        self.options = options
        startDate = options.startDate
    }

    mutating func nextCall() -> Int {
        calls += 1
        return calls
    }

    mutating func nextExchange() -> Int {
        exchanges += 1
        return exchanges
    }

    mutating func number(of connection: UInt64) -> Int {
        if let number = connections[connection] { return number }
        connections[connection] = connections.count + 1
        return connections.count
    }

    mutating func reserve(_ count: Int) -> Int {
        let granted = max(0, min(count, options.maximumTotalContent - keptBytes))
        keptBytes += granted
        droppedBytes += count - granted
        return granted
    }

    mutating func setMakesCall(_ makesCall: Bool, _ thread: UInt) {
        if makesCall { callingThreads.insert(thread) } else { callingThreads.remove(thread) }
    }

    func makesCall(_ thread: UInt) -> Bool { callingThreads.contains(thread) }

    mutating func add(_ event: TransferTrace.Draft, at time: MonotonicTime) {
        let logicalTime = advance(event)
        latest = max(latest, time)
        let limit = event.kind.isDetail ? options.maximumEvents / 4 * 3 : options.maximumEvents
        guard entries.count < limit else {
            droppedEvents += 1
            return
        }
        if start == nil {
            start = latest
            startDate = startDate ?? Date()
        }
        // Two threads may read the clock in one order and arrive here in the other.
        entries.append(
            Entry(
                nanoseconds: latest.nanoseconds - (start?.nanoseconds ?? 0), logicalTime: logicalTime, event: event))
    }

    private mutating func advance(_ event: TransferTrace.Draft) -> Int {
        var before = logicalTimes[event.lane.position]
        // What the program has seen before it calls is not known: everything so far.
        if event.lane == .caller || event.lane == .server { before = logicalTimes.max() ?? 0 }
        if let cause = event.cause, let position = causes.firstIndex(where: { $0.token == cause }) {
            before = max(before, causes.remove(at: position).time)
        }
        logicalTimes[event.lane.position] = before + 1
        if let effect = event.effect { expect(effect, before + 1) }
        return before + 1
    }

    /// An event that `token` names may follow from one at this logical time.
    private mutating func expect(_ token: TransferTrace.Token, _ time: Int) {
        // Earlier responses, to redirects, have ended nothing.
        switch token {
        case .ending: causes.removeAll { $0.token == token }
        case .storing(let task): storingTasks.insert(task)
        case .bytes(let task): if !storingTasks.contains(task) { return }
        case .call, .delegateCall, .answer, .written: break
        }
        if causes.count == Self.maximumCauses { causes.removeFirst() }
        causes.append((token, time))
    }

    var recording: TransferTrace.Recording {
        let order = entries.indices.sorted { left, right in
            let (first, second) = (entries[left], entries[right])
            if first.nanoseconds != second.nanoseconds { return first.nanoseconds < second.nanoseconds }
            if first.logicalTime != second.logicalTime { return first.logicalTime < second.logicalTime }
            if first.event.lane != second.event.lane {
                return first.event.lane.position < second.event.lane.position
            }
            return left < right
        }
        return TransferTrace.Recording(
            startDate: startDate ?? Date(timeIntervalSince1970: 0),
            events: order.map { TransferTrace.Event(entries[$0].event, nanoseconds: entries[$0].nanoseconds) },
            droppedEvents: droppedEvents, droppedBytes: droppedBytes)
    }
}

extension TransferTrace.Event {
    fileprivate init(_ draft: TransferTrace.Draft, nanoseconds: Int64) {
        self.init(
            nanoseconds: nanoseconds, lane: draft.lane, task: draft.task, exchange: draft.exchange,
            connection: draft.connection, kind: draft.kind)
    }
}

extension SessionClock {
    /// What the clock shows, on any thread.
    var reading: MonotonicTime {
        switch self {
        case .system: .current
        case .custom(let clock): clock.now
        }
    }
}
