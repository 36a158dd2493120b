import Foundation
import PurlIO
import Synchronization

/// Runs everything of a simulation on one thread, under a clock of its own.
///
/// Whatever a program would run on threads is a job here. The seed picks the next of those that are ready, one after another.
/// When none is ready the clock moves on to the next event: bytes that arrive, a timer that is due. When there is none either,
/// and the simulation is not over, it has failed: something waits for what never happens.
///
/// All of its state is used on the thread of the simulation alone, but for what a `Mutex` guards.
final class Scheduler: @unchecked Sendable {
    /// What can run next.
    enum Job {
        /// A turn of the process's network thread.
        case network(SimulatedProcess)
        /// A call that waits in a lane of the process's worker.
        case lane(SimulatedProcess, Worker.Lane)
        /// The next call of a serial queue.
        case call(SimulatedCalls)
        /// A job of the program's `async` code.
        case task(UnownedJob, SimulatedProcess)
    }

    /// A process, and what happens to it later.
    private struct Event {
        let time: Int64
        let number: Int
        let process: SimulatedProcess
        let action: @NetworkActor () -> Void
    }

    /// Three years: what is due later, such as a time-out that is set to infinity, never happens.
    static let never: Int64 = 100_000_000_000_000_000
    /// What a step takes, in nanoseconds.
    private static let longestStep: UInt64 = 20_000
    /// For how long the world runs on after the program has ended.
    private static let settling: Int64 = 600_000_000_000

    let seed: Seed
    let limits: Simulation.Limits
    /// The time since the simulation began, in nanoseconds.
    private(set) var time: Int64 = 0
    private(set) var steps = 0
    /// Why the simulation cannot continue.
    private(set) var failure: SimulationFailure.Reason?
    /// Sums up the choices: two runs with the same digest were the same.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    /// The process on whose behalf code is running.
    ///
    /// There is none when the simulation is over, and what it has left is released.
    private(set) var current: SimulatedProcess!
    private(set) var processes: [SimulatedProcess] = []

    /// How many steps have been made, for another thread that looks whether the simulation is still moving.
    let progress = Atomic<Int>(0)

    private var isOnNetworkThread = false
    private var workAfterJob: [() -> Void] = []
    private var isOver = false
    private var ready: [Job] = []
    private var events: [Event] = []
    private var lastEvent = 0
    private var owners: [UInt64: SimulatedProcess] = [:]
    private var order: SeededRandom
    private var programs: SeededRandom
    private let refusalFromOutside = Mutex<String?>(nil)

    init(_ seed: Seed, limits: Simulation.Limits) {
        self.seed = seed
        self.limits = limits
        order = SeededRandom(seed, stream: 0)
        programs = SeededRandom(seed, stream: 1)
    }

    /// The scheduler whose thread this is.
    static var ofThread: Scheduler? {
        guard let machine = Simulated.machine else { return nil }
        return machine as? Scheduler
    }

    // MARK: Running

    /// Runs jobs until `isDone` holds or the simulation has failed.
    func run(until isDone: () -> Bool) {
        while failure == nil, !isDone() {
            fireEvents()
            if ready.isEmpty {
                guard let next = nextEvent else { return fail(.stuck(waiting)) }
                time = max(time, next)
                continue
            }
            step()
            failIfRefused()
            if steps >= limits.steps { fail(.tooLong("\(steps) steps, and no end")) }
            if time >= limits.duration.nanoseconds { fail(.tooLong("\(elapsed) have passed, and no end")) }
        }
        // On another thread the program may have ended because of it since the last look.
        failIfRefused()
    }

    /// Lets what the program has left in motion come to rest, for a while, and looks whether something is left that should not.
    func settle() {
        let (lastTime, lastStep) = (time + Self.settling, steps + 100_000)
        while failure == nil, steps < lastStep {
            fireEvents()
            if ready.isEmpty {
                guard let next = nextEvent, next <= lastTime else { break }
                time = max(time, next)
                continue
            }
            step()
        }
        guard failure == nil else { return }
        // What waits for something that is due later is left alone.
        let running = ready.isEmpty && nextEvent == nil ? processes.flatMap(\.runningTasks) : []
        if !running.isEmpty { return fail(.stuck(running)) }
        let left = processes.flatMap { process in process.leftovers.map { "\(process.name): \($0) at the end" } }
        if !left.isEmpty { fail(.broken(left)) }
    }

    /// Runs nothing any more, and forgets what waits.
    func end() {
        isOver = true
        // What is released now may post work as it goes: to a process that drops it.
        for process in processes { within(process) { process.stop() } }
        // What is left of a simulation that has failed may still be woken by real threads, and must not run then.
        if failure == nil { ConcurrencyHooks.forget(owners.keys) }
        (ready, events, owners, workAfterJob) = ([], [], [:], [])
        processes = []
        current = nil
    }

    var elapsed: Duration { .nanoseconds(time) }

    func fail(_ reason: SimulationFailure.Reason) {
        if failure == nil { failure = reason }
    }

    private func failIfRefused() {
        if let reason = refusalFromOutside.withLock({ $0 }) { fail(.refused(reason)) }
    }

    /// Fails the simulation; from any thread.
    func refuseFromOutside(_ reason: String) {
        refusalFromOutside.withLock { if $0 == nil { $0 = reason } }
    }

    /// Fails the simulation, of which something was used on another thread; from any thread.
    func refuseElsewhere(_ what: String) {
        refuseFromOutside(
            """
            \(what) was used on a thread that is not its simulation's, such as one to which an actor has brought it that another \
            simulation uses at the same time, or that on which a `Progress` calls its task
            """)
    }

    private func step() {
        let choice = order.index(below: ready.count)
        digest = (digest ^ UInt64(choice) ^ UInt64(ready.count) << 16) &* 0x0000_0100_0000_01B3
        ready.swapAt(choice, ready.count - 1)
        let job = ready.removeLast()
        steps += 1
        progress.store(steps, ordering: .relaxed)
        switch job {
        case .network(let process): if process.mayRun() { within(process) { process.turn() } }
        case .lane(let process, let lane):
            if process.mayRun() { within(process) { process.runCall(on: lane, choosing: &order) } }
        case .call(let calls): if calls.process.mayRun() { within(calls.process) { calls.runNext() } }
        case .task(let job, let process): if process.mayRun() { within(process) { job.runAsGlobal() } }
        }
        finishJob()
        // Now and then a thread does not get its processor for a while.
        time += Int64(order.next() % Self.longestStep) + (order.oneIn(64) ? Int64(order.next() % 5_000_000) : 0)
    }

    /// Has something done when the job or the event is over that is running.
    func afterJob(_ work: @escaping () -> Void) {
        workAfterJob.append(work)
    }

    private func finishJob() {
        guard !workAfterJob.isEmpty else { return }
        let due = workAfterJob
        workAfterJob = []
        for work in due { work() }
    }

    /// Has a job run at some time.
    func add(_ job: Job) {
        if !isOver { ready.append(job) }
    }

    /// Adds a job of `async` code, which belongs to the process that has made its task.
    func enqueue(_ job: UnownedJob) {
        if !isOver, let owner = owner(of: job) { add(.task(job, owner)) }
    }

    /// The process that has made a job's task; `nil` for a task of another simulation.
    private func owner(of job: UnownedJob) -> SimulatedProcess? {
        guard let task = job.taskNumber else { return current }
        let owner: SimulatedProcess
        if let known = owners[task] {
            owner = known
        } else if let other = ConcurrencyHooks.scheduler(of: task), other !== self {
            // An actor that both use, such as a global one, has brought it to this thread.
            let reason = "an actor is used by two simulations that run at the same time"
            other.refuseFromOutside(reason)
            refuse(reason)
            return nil
        } else {
            owner = current
            owners[task] = current
            ConcurrencyHooks.register(task, of: self)
        }
        return owner
    }

    // MARK: Time

    /// Has something happen to a process, as its network thread would have it, after a delay in nanoseconds.
    func schedule(
        after delay: Int64, for process: SimulatedProcess, _ action: @escaping @NetworkActor () -> Void
    ) {
        guard !isOver else { return }
        lastEvent += 1
        let due = time.addingReportingOverflow(max(0, delay))
        let event = Event(
            time: due.overflow ? .max : due.partialValue, number: lastEvent, process: process, action: action)
        // Latest first; mostly the new one is among the last to happen, and they are few.
        var position = events.endIndex
        while position > 0, events[position - 1].time <= event.time { position -= 1 }
        events.insert(event, at: position)
    }

    private var nextEvent: Int64? {
        let times = processes.compactMap(\.nextDeadline) + (events.last.map { [$0.time] } ?? [])
        return times.min().flatMap { $0 < Self.never ? $0 : nil }
    }

    private func fireEvents() {
        while let event = events.last, event.time <= time {
            events.removeLast()
            within(event.process) { asNetworkThread { event.action() } }
            finishJob()
        }
        for process in processes where process.nextDeadline.map({ $0 <= time }) == true { process.wakeNetwork() }
    }

    // MARK: Processes

    /// The process that calls; `nil` when the simulation is over, and for a call that comes from elsewhere, which fails it.
    var caller: SimulatedProcess? {
        guard Scheduler.ofThread === self else {
            refuseElsewhere("a world")
            return nil
        }
        return current
    }

    /// Has the caller wait on the simulated clock.
    func sleep(for delay: Duration) async throws {
        guard let process = caller else { throw CancellationError() }
        // Longer than the simulation may take is too long, however long it is.
        try await process.sleep(for: min(delay, limits.duration))
    }

    func add(_ process: SimulatedProcess) {
        processes.append(process)
    }

    /// Runs `body` on behalf of a process, on none of its threads in particular.
    func within<Value>(_ process: SimulatedProcess, _ body: () throws -> Value) rethrows -> Value {
        let (before, wasOnNetworkThread) = (current, isOnNetworkThread)
        (current, isOnNetworkThread) = (process, false)
        defer { (current, isOnNetworkThread) = (before, wasOnNetworkThread) }
        return try body()
    }

    /// Who waits for what.
    private var waiting: [String] {
        processes.flatMap { process in within(process) { process.waiting } }
    }
}

extension Scheduler: SimulatedMachine {
    /// What the calendar shows when a simulation begins: 2030-01-01 00:00:00 UTC.
    static let firstSecond = 1_893_456_000.0

    /// What the monotonic clock shows then: not zero, which a program could take for no time at all.
    static let clockStart: Int64 = 1_000_000_000_000

    var secondsSince1970: Double { Self.firstSecond + Double(time) / 1e9 }
    var now: MonotonicTime { MonotonicTime(nanoseconds: Self.clockStart + time) }
    func random() -> UInt64 { programs.next() }

    @NetworkActor var loop: EventLoop { current?.loop ?? SimulatedProcess.idleLoop }
    var isNetworkThread: Bool { isOnNetworkThread }

    func post(_ work: NetworkWork) {
        current?.post(work)
    }

    func asNetworkThread<Value>(_ body: @NetworkActor () -> Value) -> Value {
        let before = isOnNetworkThread
        isOnNetworkThread = true
        defer { isOnNetworkThread = before }
        return NetworkActor.assumeIsolated {
            let value = body()
            if !before { current?.readDeadline() }
            return value
        }
    }

    func run(_ call: @escaping @Sendable () -> Void, on lane: Worker.Lane) {
        current?.add(call, to: lane)
    }

    func makeCallQueue() -> any SimulatedCallQueue { current.makeCallQueue() }

    func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        current.network.resolve(host, port: port, for: current, then: then)
    }

    @NetworkActor func connect(
        to address: SocketAddress,
        completion: @escaping @NetworkActor (Result<any LoopTransport, ConnectFailure>) -> Void
    ) throws(SystemError) -> any PurlIO.ConnectionAttempt {
        current.network.connect(current, to: address, completion: completion)
    }

    var files: (any FileLayer)? { current.map { SimulatedFiles($0) } }
    var home: String { current.computer.home.path }
    var programName: String { current.programName }

    func value(for key: ObjectIdentifier, make: () -> any Sendable) -> any Sendable {
        current?.value(for: key, make: make) ?? make()
    }

    func refuse(_ reason: String) {
        fail(.refused(reason))
    }
}
