public import Foundation
internal import PurlConnections
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
/// replaced by a mark in everything that is read from it, unless ``Options/keepsSecrets`` is set.
public final class TransferTrace: Sendable {
    /// What is recorded, and how much of it.
    public struct Options: Sendable, Hashable {
        /// How many events are kept. Pieces of bodies and the events that come with them may use three quarters of it, so
        /// that there is room for the end of a long transfer. 20,000 by default.
        public var maximumEvents = 20_000
        /// How many bytes heads, URLs, sentences and remarks may take together. Interim responses may use three quarters of
        /// it. 16 MiB by default.
        public var maximumTotalText = 16 << 20
        /// How many bytes of each body are kept, of those sent and of those received. 0, the default, keeps their counts
        /// alone.
        public var maximumContent = 0
        /// How many bytes of all bodies together are kept. 16 MiB by default.
        public var maximumTotalContent = 16 << 20
        /// Whether credentials, cookies and the users in URLs are shown as they are. `false` by default.
        public var keepsSecrets = false
        /// The date of the first event; `nil`, the default, is the current date when it is recorded.
        public var startDate: Date?

        /// The default options.
        public init() {}
    }

    /// What a trace has recorded: a value that can be saved.
    public struct Recording: Sendable, Hashable {
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

    /// The recording options.
    public let options: Options
    private let state: Mutex<TraceRecorder>
    /// Sees what happens to a task as it happens.
    typealias Watcher = @Sendable (_ task: Int?, _ sight: ProcessTraces.Sight) -> Void

    private let watcher: Watcher?
    /// The program's trace, which has the same events: a simulation watches sessions in one of its own.
    private let copy: TransferTrace?
    private let calls = Atomic(0)
    private let exchanges = Atomic(0)

    /// An empty trace.
    ///
    /// - Parameter options: What is recorded, and how much of it.
    public convenience init(options: Options = Options()) {
        self.init(options: options, watcher: nil, copiedTo: nil)
    }

    /// - Parameters:
    ///   - watcher: Sees every event as it is recorded, those that have no room included, and what no event has.
    ///   - copy: The program's trace; `nil` for none.
    init(options: Options, watcher: Watcher?, copiedTo copy: TransferTrace?) {
        self.options = options
        self.watcher = watcher
        self.copy = copy
        state = Mutex(TraceRecorder(options))
    }

    /// The events so far, ordered by time, and by cause where times are equal: what one thread does stays in its order, and
    /// follows what has caused it on another.
    public var events: [Event] { recording.events }

    /// Everything so far.
    public var recording: Recording { state.withLock { $0 }.recording }

    /// Forgets what has been recorded. The next event is at time zero.
    public func removeAll() {
        state.withLock { state in
            state = TraceRecorder(options)
            calls.store(0, ordering: .relaxed)
            exchanges.store(0, ordering: .relaxed)
        }
    }

    /// Adds a remark at the current time.
    ///
    /// - Parameters:
    ///   - text: What is shown.
    ///   - lane: Where it happened; `.server` for what a test's server has done.
    public func note(_ text: String, in lane: Lane = .caller) {
        let time = state.withLock { $0.clock }.reading
        add(TraceEntry(time: time, lane: lane, record: .object, object: EagerEvent(.note(text))))
    }

    // MARK: For the recording places

    /// What an event contains about calls of the delegate on its thread.
    enum DelegateCallBoundary {
        case begins, ends
        /// The program has done something, in a call of the delegate or elsewhere.
        case mayRun
        case irrelevant
    }

    /// Adds an event.
    ///
    /// - Parameter entry: Made within the lock, so that it is moved to its place and not copied. The clock, which may be the
    ///   program's, is read before.
    func add(_ entry: @autoclosure () -> TraceEntry, call: DelegateCallBoundary = .irrelevant) {
        if let watcher {
            let seen = entry()
            watcher(seen.task, .event(seen.kind(keepingSecrets: true)))
        }
        state.withLock { state in
            switch call {
            case .begins: state.beginCall(NativeThread.current)
            case .ends: state.endCall(NativeThread.current)
            case .mayRun where state.makesCall(NativeThread.current): return state.add(entry().within(.delegateQueue))
            case .mayRun, .irrelevant: break
            }
            state.add(entry())
        }
        copy?.add(entry(), call: call)
    }

    /// The trace that the program has set: this one, but in a simulation.
    var ofProgram: TransferTrace? { watcher == nil ? self : copy }

    /// What records a task of a session that this one records, where the program has set another trace for it.
    func forTask(_ program: TransferTrace?) -> TransferTrace? {
        watcher.map { ProcessTraces.makeTrace($0, copiedTo: program) } ?? program
    }

    /// Shows a simulation what no event has.
    func show(_ sight: @autoclosure () -> ProcessTraces.Sight, of task: Int) {
        if let watcher { watcher(task, sight()) }
    }

    /// Remarks have the times of this clock from now on.
    func use(_ clock: SessionClock) {
        state.withLock { $0.clock = clock }
        copy?.use(clock)
    }

    /// The number of a task: its identifier, or the next number where a task of another session has that.
    func numberTask(_ identifier: Int) -> Int {
        copy?.numberTask(identifier) ?? state.withLock { $0.numberTask(identifier) }
    }

    /// A number for a delegate call.
    func nextCall() -> Int { copy?.nextCall() ?? calls.wrappingAdd(1, ordering: .relaxed).newValue }

    /// A number for an exchange.
    func nextExchange() -> Int { copy?.nextExchange() ?? exchanges.wrappingAdd(1, ordering: .relaxed).newValue }

    /// How many of `count` bytes of a body may be kept; they count as kept.
    func reserve(_ count: Int) -> Int {
        if let copy { return copy.reserve(count) }
        return count > 0 ? state.withLock { $0.reserve(count) } : 0
    }
}

/// The state of a trace: the events in the order in which threads have recorded them.
///
/// Recording appends, and nothing else; all order is made when the trace is read.
private struct TraceRecorder: Sendable {
    private let options: TransferTrace.Options
    /// The clock of the session that was traced last.
    var clock = SessionClock.system
    private var startDate: Date?
    private var entries = EntryList()
    /// The threads that make a call of the delegate.
    private var callingThreads: [UInt] = []
    /// The numbers of the tasks.
    private var taskNumbers: Set<Int> = []
    private var highestTaskNumber = 0
    private var keptBytes = 0
    /// How many bytes the texts of the entries take.
    private var textSize = 0
    private var droppedEvents = 0
    private var droppedBytes = 0

    init(_ options: TransferTrace.Options) {
        self.options = options
        startDate = options.startDate
    }

    mutating func reserve(_ count: Int) -> Int {
        let granted = max(0, min(count, options.maximumTotalContent - keptBytes))
        keptBytes += granted
        droppedBytes += count - granted
        return granted
    }

    mutating func numberTask(_ identifier: Int) -> Int {
        // More tasks than events are not told apart any more.
        guard taskNumbers.count < options.maximumEvents else { return identifier }
        let number = taskNumbers.contains(identifier) ? highestTaskNumber + 1 : identifier
        taskNumbers.insert(number)
        highestTaskNumber = max(highestTaskNumber, number)
        return number
    }

    mutating func beginCall(_ thread: UInt) {
        callingThreads.append(thread)
    }

    mutating func endCall(_ thread: UInt) {
        if callingThreads.last == thread {
            callingThreads.removeLast()
        } else {
            callingThreads.removeAll { $0 == thread }
        }
    }

    func makesCall(_ thread: UInt) -> Bool { callingThreads.contains(thread) }

    mutating func add(_ entry: consuming TraceEntry) {
        let size = entry.textSize
        guard entries.count < limit(options.maximumEvents, for: entry),
            size <= limit(options.maximumTotalText, for: entry) - textSize
        else {
            droppedEvents += 1
            return
        }
        textSize += size
        if startDate == nil { startDate = .current }
        entries.append(entry)
    }

    /// Details leave a quarter of the room for the end of the transfer.
    private func limit(_ maximum: Int, for entry: borrowing TraceEntry) -> Int {
        entry.isDetail ? maximum / 4 * 3 : maximum
    }

    var recording: TransferTrace.Recording {
        var order = TraceOrder()
        let entries = entries.all
        let places = entries.map { order.place($0) }
        let sorted = entries.indices.sorted { left, right in
            if places[left] != places[right] { return places[left] < places[right] }
            return left < right
        }
        var connections: [UInt64: Int] = [:]
        for number in entries.lazy.compactMap(\.connection) where connections[number] == nil {
            connections[number] = connections.count + 1
        }
        let start = entries.first?.time.nanoseconds ?? 0
        let events = sorted.map { index in
            let entry = entries[index]
            return TransferTrace.Event(
                nanoseconds: places[index].nanoseconds - start, lane: entry.lane, task: entry.task,
                exchange: entry.exchange, connection: entry.connection.flatMap { connections[$0] },
                kind: entry.kind(keepingSecrets: options.keepsSecrets))
        }
        return TransferTrace.Recording(
            startDate: startDate ?? Date(timeIntervalSince1970: 0), events: events, droppedEvents: droppedEvents,
            droppedBytes: droppedBytes)
    }
}

/// Events in blocks: an array of them all would move every one of them whenever it grows.
private struct EntryList: Sendable {
    private static let blockSize = 256
    private var blocks: [[TraceEntry]] = []
    private var last: [TraceEntry] = []
    private(set) var count = 0

    mutating func append(_ entry: consuming TraceEntry) {
        if last.count == Self.blockSize {
            blocks.append(last)
            last = []
        }
        if last.isEmpty { last.reserveCapacity(Self.blockSize) }
        last.append(entry)
        count += 1
    }

    var all: [TraceEntry] { blocks.flatMap { $0 } + last }
}

/// The order of events.
///
/// Threads record at the same time, so with a clock that stands still their order would be another in every run. Therefore
/// each event has a logical time as well (Lamport's): later than what came before on its lane, and than what has caused it.
private struct TraceOrder {
    /// The place of an event: by time, then by cause, then by lane.
    struct Place: Comparable {
        let nanoseconds: Int64
        let logicalTime: Int
        let lane: Int

        static func < (left: Place, right: Place) -> Bool {
            (left.nanoseconds, left.logicalTime, left.lane) < (right.nanoseconds, right.logicalTime, right.lane)
        }
    }

    private var latest = Int64.min
    private var logicalTimes = [Int](repeating: 0, count: TransferTrace.Lane.allCases.count)
    /// What may follow, oldest first, and the logical times of the causes. There are few at a time.
    private var causes: [(token: TraceToken, time: Int)] = []
    /// The tasks whose bodies go into files: only there are bytes waited for.
    private var storingTasks: Set<Int> = []
    /// How many effects are waited for: not every one comes, since writes of several pieces are one.
    private static let maximumCauses = 64

    /// The place of the next event that was recorded.
    mutating func place(_ entry: TraceEntry) -> Place {
        // Two threads may read the clock in one order and record in the other.
        latest = max(latest, entry.time.nanoseconds)
        return Place(nanoseconds: latest, logicalTime: advance(entry), lane: entry.lane.position)
    }

    private mutating func advance(_ entry: TraceEntry) -> Int {
        var before = logicalTimes[entry.lane.position]
        // What the program has seen before it calls is not known: everything so far.
        if entry.lane == .caller || entry.lane == .server { before = logicalTimes.max() ?? 0 }
        for cause in entry.causes {
            guard let position = causes.firstIndex(where: { $0.token == cause }) else { continue }
            before = max(before, causes.remove(at: position).time)
            break
        }
        logicalTimes[entry.lane.position] = before + 1
        if let effect = entry.effect { expect(effect, before + 1) }
        return before + 1
    }

    /// An event that `token` names may follow from one at this logical time.
    private mutating func expect(_ token: TraceToken, _ time: Int) {
        // Earlier responses, to redirects, have ended nothing.
        switch token {
        case .ending: causes.removeAll { $0.token == token }
        case .storing(let task): storingTasks.insert(task)
        case .bytes(let task): if !storingTasks.contains(task) { return }
        case .call, .resumed, .delegateCall, .answer, .written: break
        }
        if causes.count == Self.maximumCauses { causes.removeFirst() }
        causes.append((token, time))
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
