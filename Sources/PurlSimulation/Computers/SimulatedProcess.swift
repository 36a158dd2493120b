import Foundation
internal import Purl
import PurlIO

/// A process of a simulated computer: what it has once, and what waits to run in it.
///
/// Used on the thread of its simulation alone.
final class SimulatedProcess: @unchecked Sendable {
    let program: String
    let computer: Computer
    let network: SimulatedNetwork

    /// When a process ends that is taken by surprise.
    struct Moment {
        enum Kind {
            /// Before a job.
            case job
            /// At a change of the disk.
            case change
            /// At a change of the disk with which something begins or ends.
            case edge
        }

        /// A process that changes little on its disk ends after so many jobs.
        private static let mostJobs = 1_024

        private let kind: Kind
        private var left: Int
        private var jobs = Self.mostJobs

        /// - Parameter count: How many others come before.
        init(_ kind: Kind, after count: Int) {
            self.kind = kind
            left = count
        }

        /// Counts a job. True when the moment has come.
        mutating func hasComeWithJob() -> Bool {
            jobs -= 1
            if kind == .job { left -= 1 }
            return jobs < 0 || left < 0
        }

        /// Counts a change of the disk. True when the moment has come.
        mutating func hasComeWithChange(isEdge: Bool) -> Bool {
            switch kind {
            case .job: return false
            case .change: left -= 1
            case .edge: if isEdge { left -= 1 }
            }
            return left < 0
        }
    }

    /// How a process ends that is taken by surprise.
    private struct Surprise {
        var moment: Moment
        /// False where the end is left out.
        let strikes: () -> Bool
        let end: () -> Void
    }

    private struct Opened {
        weak var file: SimulatedFile?
    }

    private struct Queue {
        weak var calls: SimulatedCalls?
    }

    private let scheduler: Scheduler
    private var ownLoop: EventLoop?
    private var values: [ObjectIdentifier: any Sendable] = [:]
    private var lanes: [Worker.Lane: [@Sendable () -> Void]] = [:]
    private var inbox: [NetworkWork] = []
    private var deliveries: [@NetworkActor () -> Void] = []
    private var connections: [SimulatedSocket] = []
    private var isNetworkQueued = false
    private var opened: [ObjectIdentifier: Opened] = [:]
    private var locked: Set<ObjectIdentifier> = []
    private var queues: [Queue] = []
    private var surprise: Surprise?
    private var watches: [Int: Watch] = [:]
    private weak var lastWritten: SimulatedFile?
    /// The write that is running is the change at which the process ends.
    private var isTearing = false
    private(set) var isAlive = true
    private var tracesOfEnded: [TransferTrace] = []
    /// The moment of its end has come within a job, which runs out without any effect on disk and network.
    private(set) var isDying = false
    /// Whether the moment of its surprise has come.
    private(set) var wasSurprised = false
    /// How many calls of ``World/sleep(for:)`` wait: their timers are the program's.
    private var sleepers = 0
    /// When the next timer is due; `nil` without one.
    private(set) var nextDeadline: Int64?

    init(_ program: String, on computer: Computer, _ scheduler: Scheduler, _ network: SimulatedNetwork) {
        self.program = program
        self.computer = computer
        self.scheduler = scheduler
        self.network = network
        guard Scheduler.ofThread === scheduler else {
            isAlive = false
            return
        }
        scheduler.add(self)
        ownLoop = scheduler.within(self) {
            beginWatching()
            URLSessionConfiguration.defaultTLSProvider = FakeProvider()
            return scheduler.asNetworkThread { EventLoop(poller: NoDescriptors()) }
        }
    }

    /// The program's name as that of a file, which leads to no other folder.
    var programName: String {
        let name = String(program.map { "/\0".contains($0) ? "_" : $0 })
        return name.hasPrefix(".") ? "_" + name : name
    }

    /// `laptop/player`, or the computer's name where it runs one program.
    var name: String { program.isEmpty ? computer.name : "\(computer.name)/\(program)" }

    /// The process's value for a key.
    func value(for key: ObjectIdentifier, make: () -> any Sendable) -> any Sendable {
        if let value = values[key] { return value }
        let value = make()
        if isAlive { values[key] = value }
        return value
    }

    /// What its calendar shows.
    var calendarTime: FileStatus.Time {
        let start = Int64(Scheduler.firstSecond)
        return FileStatus.Time(
            seconds: start + scheduler.time / 1_000_000_000, nanoseconds: scheduler.time % 1_000_000_000)
    }

    // MARK: The end

    /// The process ends: nothing of it runs any more, and the kernel closes its sockets and files.
    func exit() {
        guard isAlive else { return }
        scheduler.within(self) {
            scheduler.asNetworkThread {
                for socket in connections { socket.close() }
            }
            stop()
        }
    }

    /// Nothing of the process runs any more; what has not run is dropped, and what it had in memory, but for the traces.
    func stop() {
        guard isAlive else { return }
        tracesOfEnded = ProcessTraces.all
        isAlive = false
        nextDeadline = nil
        surprise = nil
        for file in opened.values.compactMap(\.file) { file.close() }
        for queue in queues { queue.calls?.forget() }
        queues = []
        let memory = (lanes, inbox, deliveries, values, ownLoop, connections)
        (lanes, inbox, deliveries, values, ownLoop, connections) = ([:], [], [], [:], nil, [])
        (opened, locked) = ([:], [])
        // What is released now may call back.
        withExtendedLifetime(memory) {}
    }

    /// Has the process end at some moment.
    ///
    /// - Parameters:
    ///   - strikes: Asked at that moment; false where the end is left out.
    ///   - end: Ends it.
    func surprise(at moment: Moment, strikes: @escaping () -> Bool, _ end: @escaping () -> Void) {
        surprise = Surprise(moment: moment, strikes: strikes, end: end)
    }

    /// The process ends by itself: nothing takes it by surprise any more.
    func cancelSurprise() {
        surprise = nil
    }

    /// Whether the process may run a job, which counts.
    func mayRun() -> Bool {
        guard isAlive else { return false }
        if surprise?.moment.hasComeWithJob() == true, let due = takeSurprise() { due.end() }
        return isAlive
    }

    /// The surprise, whose moment has come; `nil` where it is left out.
    private func takeSurprise() -> Surprise? {
        guard let due = surprise else { return nil }
        surprise = nil
        wasSurprised = true
        return due.strikes() ? due : nil
    }

    /// A serial queue, whose calls hold what they are for until they have been made.
    func makeCallQueue() -> SimulatedCalls {
        let calls = SimulatedCalls(of: self, scheduler)
        queues.removeAll { $0.calls == nil }
        queues.append(Queue(calls: calls))
        return calls
    }

    // MARK: Files

    func opens(_ file: SimulatedFile) {
        opened[ObjectIdentifier(file)] = Opened(file: file)
    }

    func locks(_ file: SimulatedFile) {
        locked.insert(ObjectIdentifier(file))
    }

    func unlocks(_ file: SimulatedFile) {
        locked.remove(ObjectIdentifier(file))
    }

    func closes(_ file: SimulatedFile) {
        // What belongs to a simulation that is over may be released by any thread.
        guard Scheduler.ofThread === scheduler else { return }
        opened[ObjectIdentifier(file)] = nil
        locked.remove(ObjectIdentifier(file))
    }

    /// - Parameter number: By which the disk knows the file.
    func hasWritten(_ file: SimulatedFile, number: UInt64?) {
        lastWritten = file
        guard let number, let other = computer.disk.otherWriter(of: number, than: self) else { return }
        scheduler.fail(.broken(["\(name): writes to a file to which \(other.name) is writing"]))
    }

    /// Whether the process has a file open.
    func hasOpen(_ file: UInt64) -> Bool {
        isAlive && opened.values.contains { $0.file?.number == file }
    }

    /// A change of the disk. Throws from the moment on at which the process is killed, before the change is made.
    ///
    /// - Parameter isEdge: Something begins or ends with it.
    func countChange(_ operation: String, isEdge: Bool) throws(SystemError) {
        isTearing = false
        if surprise?.moment.hasComeWithChange(isEdge: isEdge) == true { beginDying() }
        try checkAlive(operation)
    }

    private func beginDying() {
        guard let surprise = takeSurprise() else { return }
        (isDying, isTearing) = (true, true)
        scheduler.afterJob { surprise.end() }
    }

    /// How many of so many bytes a write has written that was interrupted.
    func takePart(of count: Int) -> Int {
        defer { isTearing = false }
        return isTearing ? computer.disk.drawPart(of: count) : 0
    }

    /// Throws where the process has been killed.
    func checkAlive(_ operation: String) throws(SystemError) {
        if isDying || !isAlive { throw SystemError(code: EIO, operation: operation) }
    }

    /// Throws where the process is killed at a change of the disk, or where the disk has a fault.
    func checkChange(_ operation: String, isEdge: Bool) throws(SystemError) {
        try countChange(operation, isEdge: isEdge)
        guard network.faults.strikes(.diskErrors, isEdge: isEdge, self, "the disk fails in \(operation)") else {
            return
        }
        let isFull = operation != "fsync" && network.faults.drawSide()
        throw SystemError(code: isFull ? ENOSPC : EIO, operation: operation)
    }

    /// Throws where the disk is full.
    func checkRoom(_ operation: String) throws(SystemError) {
        let disk = computer.disk
        if disk.fullUntil <= scheduler.time, network.faults.strikes(.fullDisk, self, "the disk is full for a while") {
            disk.fill(until: scheduler.time + network.faults.drawStall())
        }
        if disk.fullUntil > scheduler.time { throw SystemError(code: ENOSPC, operation: operation) }
    }

    /// Throws where the disk cannot be read.
    func checkReading(_ operation: String) throws(SystemError) {
        try checkAlive(operation)
        if network.faults.strikes(.readErrors, self, "the disk fails in \(operation)") {
            throw SystemError(code: EIO, operation: operation)
        }
    }

    // MARK: The worker's lanes

    func add(_ call: @escaping @Sendable () -> Void, to lane: Worker.Lane) {
        guard isAlive else { return }
        lanes[lane, default: []].append(call)
        scheduler.add(.lane(self, lane))
    }

    /// Makes one of the lane's next calls: it has several threads.
    func runCall(on lane: Worker.Lane, choosing random: inout SeededRandom) {
        guard var calls = lanes[lane], !calls.isEmpty else { return }
        let call = calls.remove(at: random.index(below: min(4, calls.count)))
        lanes[lane] = calls
        switch lane {
        case .files, .synchronization:
            // The thread waits for the disk, others of the lane do not.
            if network.faults.strikes(.slowDisk, self, "the disk is slow") {
                return scheduler.schedule(after: network.faults.drawStall(), for: self) { [weak self] in
                    guard let self, isAlive else { return }
                    lanes[lane, default: []].insert(call, at: 0)
                    scheduler.add(.lane(self, lane))
                }
            }
        case .names, .handshakes, .userCode, .downloads, .sinks, .bodyStreams, .protocols: break
        }
        call()
    }

    // MARK: The network thread

    /// Its loop; one that does nothing when the process has ended.
    @NetworkActor var loop: EventLoop { ownLoop ?? Self.idleLoop }

    /// A loop that does nothing, for what is left of a process that has ended.
    @NetworkActor static var idleLoop: EventLoop { EventLoop(poller: NoDescriptors()) }

    /// Timers change on the network thread alone: after that it is known when the next one is due.
    @NetworkActor func readDeadline() {
        guard isAlive else { return }
        nextDeadline = ownLoop?.nextDeadline.map { $0.nanoseconds - Scheduler.clockStart }
    }

    func post(_ work: NetworkWork) {
        guard isAlive else { return }
        inbox.append(work)
        wakeNetwork()
    }

    /// Has the loop deliver an event in its next turn.
    func deliver(_ event: @escaping @NetworkActor () -> Void) {
        deliveries.append(event)
        wakeNetwork()
    }

    /// Has the network thread take a turn soon.
    func wakeNetwork() {
        guard isAlive, !isNetworkQueued else { return }
        isNetworkQueued = true
        scheduler.add(.network(self))
    }

    /// One turn, as the network thread takes it: events, due timers, then what others have posted.
    func turn() {
        isNetworkQueued = false
        scheduler.asNetworkThread {
            loop.turn { deliverEvents() }
            let batch = inbox
            inbox = []
            for work in batch {
                switch work {
                case .job(let job): job.runSynchronously(on: NetworkActor.shared.unownedExecutor)
                case .body(let body): body()
                }
            }
            loop.endTurn()
            if !inbox.isEmpty || !deliveries.isEmpty || connections.contains(where: { !$0.readyEvents.isEmpty }) {
                wakeNetwork()
            }
        }
    }

    @NetworkActor private func deliverEvents() {
        let due = deliveries
        deliveries = []
        // What the poller has found is delivered, even if something else becomes ready meanwhile.
        var found = connections.map { ($0, $0.readyEvents) }.filter { !$0.1.isEmpty }
        network.shuffle(&found)
        for event in due { event() }
        for (socket, events) in found { socket.callHandler(events) }
    }

    @NetworkActor func add(_ socket: SimulatedSocket) {
        connections.append(socket)
    }

    @NetworkActor func remove(_ socket: SimulatedSocket) {
        connections.removeAll { $0 === socket }
    }

    // MARK: What it has done

    /// The traces of its sessions, oldest first.
    var traces: [TransferTrace] { isAlive ? scheduler.within(self) { ProcessTraces.all } : tracesOfEnded }

    /// Watches what its sessions do.
    private func beginWatching() {
        ProcessTraces.watch { [weak self] trace, task, sight in
            guard let self, let task else { return }
            guard Scheduler.ofThread === scheduler else { return scheduler.refuseElsewhere("a task") }
            guard isAlive, !isDying else { return }
            watch(trace) { see(sight, of: task, &$0) }
        }
    }

    /// Changes a trace's watch, and fails the simulation where a rule is broken.
    private func watch(_ trace: Int, _ change: (inout Watch) -> Void) {
        var watch = watches.removeValue(forKey: trace) ?? Watch()
        change(&watch)
        let broken = watch.takeBroken()
        watches[trace] = watch
        if !broken.isEmpty { scheduler.fail(.broken(broken.map { "\(name): \($0)" })) }
    }

    private func see(_ sight: ProcessTraces.Sight, of task: Int, _ watch: inout Watch) {
        switch sight {
        case .event(let kind):
            watch.see(kind, of: task)
            switch kind {
            case .file(.write):
                // Bytes that were there already are dropped, and no file is written.
                if let lastWritten { watch.setFile(lastWritten, of: task) }
                lastWritten = nil
            case .file(.complete): watch.checkContent(of: task) { network.contents(at: $0) }
            default: break
            }
        case .bufferLimit(let bytes): watch.setBufferLimit(bytes, of: task)
        case .delivery(let content): watch.checkDelivery(content, of: task) { network.contents(at: $0) }
        }
    }

    /// A file that several connections have filled has become a complete one.
    func hasJoined(_ file: SimulatedFile) {
        guard isAlive, !isDying else { return }
        for trace in watches.keys.sorted() {
            watch(trace) { $0.checkContent(ofJoined: file) { network.contents(at: $0) } }
        }
    }

    /// Waits on the simulated clock.
    func sleep(for delay: Duration) async throws {
        sleepers += 1
        defer { sleepers -= 1 }
        try await Pause.sleep(for: delay)
    }

    /// Whether every task that was made and resumed has completed.
    var isQuiet: Bool { watches.values.allSatisfy(\.isQuiet) }

    /// Its tasks that run, in words.
    var runningTasks: [String] {
        isAlive ? watches.sorted { $0.key < $1.key }.flatMap(\.value.runningTasks).map { "\(name): \($0)" } : []
    }

    /// What the process has left though its tasks are over, in words.
    var leftovers: [String] {
        // A server, which has no tasks, does not learn of a connection that has become half open.
        guard isAlive, isQuiet, !watches.isEmpty else { return [] }
        let files = opened.filter { $0.value.file != nil }.keys.map { file in
            locked.contains(file) ? "a locked file is open" : "a file is open"
        }
        let sockets = scheduler.asNetworkThread { connections.map { "\($0.words) is open" } }
        return files.sorted() + sockets + (nextDeadline == nil || sleepers > 0 ? [] : ["a timer is set"])
    }

    /// What the process waits for, in words: its unfinished tasks and open connections.
    var waiting: [String] {
        let tasks = (isAlive ? traces : []).flatMap { trace -> [String] in
            let events = trace.events
            let over = Set(events.filter { if case .completed = $0.kind { true } else { false } }.map(\.task))
            let made = events.filter { if case .made = $0.kind { !over.contains($0.task) } else { false } }
            return made.compactMap { event in
                guard let task = event.task, let last = events.last(where: { $0.task == task }) else { return nil }
                return "\(name): task \(task) \(event.kind.words) waits; last: \(last.kind.words)"
            }
        }
        return tasks + scheduler.asNetworkThread { connections.map { "\(name): \($0.words)" } }
    }
}

/// A serial queue of a process.
final class SimulatedCalls: SimulatedCallQueue, @unchecked Sendable {
    let process: SimulatedProcess
    private let scheduler: Scheduler
    // Used on the thread of the simulation alone.
    private var calls: [@Sendable () -> Void] = []

    init(of process: SimulatedProcess, _ scheduler: Scheduler) {
        self.process = process
        self.scheduler = scheduler
    }

    func add(_ call: @escaping @Sendable () -> Void) {
        guard process.isAlive else {
            // What it has left may still call it while it is released.
            if let user = Scheduler.ofThread, let caller = user.current, caller !== process, caller.isAlive {
                user.refuse("a session is used that was made by a program that has ended, or in another simulation")
            }
            return
        }
        guard Scheduler.ofThread === scheduler else { return scheduler.refuseElsewhere("a session") }
        calls.append(call)
        if calls.count == 1 { scheduler.add(.call(self)) }
    }

    /// The process has ended: what has not been called never is.
    func forget() {
        let forgotten = calls
        calls = []
        withExtendedLifetime(forgotten) {}
    }

    func runNext() {
        guard let call = calls.first else { return }
        call()
        // The call may have ended the process.
        if !calls.isEmpty { calls.removeFirst() }
        if !calls.isEmpty { scheduler.add(.call(self)) }
    }
}

/// A simulated process has no descriptors.
private final class NoDescriptors: Poller {
    func change(
        _ descriptor: Int32, token: PollToken, from old: TransportInterest, to new: TransportInterest
    ) throws(SystemError) {
        throw SystemError(code: ENOSYS, operation: "poll")
    }

    func wait(milliseconds: Int32, into events: inout [PollEvent]) -> Bool { true }
}
