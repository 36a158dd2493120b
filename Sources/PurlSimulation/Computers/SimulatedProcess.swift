import Foundation
import Purl
import PurlIO

/// A process of a simulated computer: what it has once, and what waits to run in it.
///
/// Used on the thread of its simulation alone.
final class SimulatedProcess: @unchecked Sendable {
    let program: String
    let computer: Computer
    let network: SimulatedNetwork

    private let scheduler: Scheduler
    private var ownLoop: EventLoop?
    private var values: [ObjectIdentifier: any Sendable] = [:]
    private var lanes: [Worker.Lane: [@Sendable () -> Void]] = [:]
    private var inbox: [NetworkWork] = []
    private var deliveries: [@NetworkActor () -> Void] = []
    private var connections: [SimulatedSocket] = []
    private var isNetworkQueued = false
    private var locked: [RegularFile] = []
    private var jobsLeft = Int.max
    private var onEnd: (() -> Void)?
    private(set) var isAlive = true
    /// When the next timer is due; `nil` without one.
    private(set) var nextDeadline: Int64?

    init(_ program: String, on computer: Computer, _ scheduler: Scheduler, _ network: SimulatedNetwork) {
        self.program = program
        self.computer = computer
        self.scheduler = scheduler
        self.network = network
        scheduler.add(self)
        ownLoop = scheduler.within(self) {
            scheduler.asNetworkThread { EventLoop(poller: NoDescriptors()) }
        }
    }

    /// `laptop/player`, or the computer's name where it runs one program.
    var name: String { program.isEmpty ? computer.name : "\(computer.name)/\(program)" }

    /// The process's value for a key.
    func value(for key: ObjectIdentifier, make: () -> any Sendable) -> any Sendable {
        if let value = values[key] { return value }
        let value = make()
        values[key] = value
        return value
    }

    /// The process ends: nothing of it runs any more, and the kernel closes its sockets.
    func exit() {
        guard isAlive else { return }
        watch()
        scheduler.within(self) {
            scheduler.asNetworkThread {
                for socket in connections { socket.close() }
            }
            for file in locked { file.unlock() }
            locked = []
            stop()
        }
    }

    /// Has `end` called before the job that comes after so many others.
    func end(afterJobs count: Int, _ end: @escaping () -> Void) {
        (jobsLeft, onEnd) = (count, end)
    }

    /// Whether its end after so many jobs has come.
    func hasReached(_ count: Int) -> Bool { jobsLeft < 0 && count < .max }

    /// Whether the process may run a job, which counts.
    func mayRun() -> Bool {
        guard isAlive else { return false }
        jobsLeft -= 1
        if jobsLeft < 0, let end = onEnd {
            onEnd = nil
            end()
        }
        return isAlive
    }

    // MARK: Files

    func holdsLock(of file: RegularFile) {
        locked.append(file)
    }

    func releasesLock(of file: RegularFile) {
        locked.removeAll { $0 === file }
    }

    /// Throws where the disk has a fault.
    func checkDisk(_ operation: String) throws(SystemError) {
        guard network.faults.strikes(.diskErrors, self, "the disk fails in \(operation)") else { return }
        let isFull = operation != "fsync" && network.faults.drawSide()
        throw SystemError(code: isFull ? ENOSPC : EIO, operation: operation)
    }

    /// Nothing of the process runs any more; what has not run is dropped.
    func stop() {
        isAlive = false
        nextDeadline = nil
        (lanes, inbox, deliveries) = ([:], [], [])
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
        call()
    }

    // MARK: The network thread

    var loop: EventLoop {
        guard let ownLoop else { preconditionFailure("a process has its loop from the beginning") }
        return ownLoop
    }

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

    /// Fails the simulation where the process has broken a rule.
    func watch() {
        let broken = scheduler.within(self) { ProcessTraces.all }.flatMap { Watch.brokenRules(in: $0.events) }
        if !broken.isEmpty { scheduler.fail(.broken(broken.map { "\(name): \($0)" })) }
    }

    /// What the process waits for, in words: its unfinished tasks and open connections.
    var waiting: [String] {
        let tasks = ProcessTraces.all.flatMap { trace -> [String] in
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
        guard process.isAlive else { return }
        guard Scheduler.ofThread === scheduler else {
            return scheduler.refuseFromOutside("a session was used on a thread that is not the simulation's")
        }
        calls.append(call)
        if calls.count == 1 { scheduler.add(.call(self)) }
    }

    func runNext() {
        guard let call = calls.first else { return }
        call()
        calls.removeFirst()
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
