import Synchronization

/// The isolation of everything that touches a socket, a timer or a transfer's state.
///
/// Its executor is the one network thread, which starts on first use and lasts as long as the process. Between objects of
/// this actor, and in callbacks of the loop, calls are plain synchronous calls.
@globalActor package actor NetworkActor {
    /// The one instance.
    package static let shared = NetworkActor()

    /// The network thread.
    nonisolated let executor: NetworkExecutor

    private init() {
        executor = NetworkExecutor()
        executor.start()
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Runs `body` on the network thread soon, in order with the actor's jobs. From any thread.
    package nonisolated static func post(_ body: @escaping @Sendable @NetworkActor () -> Void) {
        shared.executor.post(body)
    }

    /// Runs `body` within this call, as code of this actor. Traps when the caller is not on the network thread.
    package nonisolated static func assumeIsolated<T>(_ body: @NetworkActor () throws -> T) rethrows -> T {
        shared.preconditionIsolated()
        return try runIsolated(body)
    }

    /// Runs `body` within this call, as code of this actor, where it is known that the caller is on the network thread.
    private nonisolated static func runIsolated<T>(_ body: @NetworkActor () throws -> T) rethrows -> T {
        try withoutActuallyEscaping(body) { body in
            // The caller has proved the isolation that the type demands, so the type can be dropped.
            try unsafeBitCast(body, to: (() throws -> T).self)()
        }
    }

    /// Whether the caller is on the network thread.
    package nonisolated static var isCurrent: Bool { shared.executor.isCurrent }

    /// Runs `body` on the network thread at the end of its turn, before it waits again, so that many events of one turn
    /// can share one call. Runs it at once when the caller is on another thread.
    package nonisolated static func afterTurn(_ body: @escaping @Sendable () -> Void) {
        if shared.executor.isCurrent {
            runIsolated { EventLoop.shared.runAfterTurn(body) }
        } else {
            body()
        }
    }

    /// Runs `body` at once when the caller is on the network thread already, and posts it otherwise.
    nonisolated static func perform(_ body: @escaping @Sendable @NetworkActor () -> Void) {
        if shared.executor.isCurrent {
            runIsolated(body)
        } else {
            post(body)
        }
    }
}

/// The network thread: takes the actor's jobs and posted closures from any thread, and runs them between turns of the
/// loop.
final class NetworkExecutor: SerialExecutor {
    private let inbox = Mutex(Inbox())
    private let thread = Atomic<UInt>(0)
    /// Wakes the loop. `nil` when the process had no descriptor left for it; then the loop looks for work every 10 ms.
    let signal: WakeSignal?

    init() {
        signal = try? WakeSignal()
    }

    /// Starts the thread; waits if the system has none left.
    func start() {
        while !NativeThread.start("purl-io", { self.run() }) {
            Platform.sleep(milliseconds: 10)
        }
    }

    /// Runs `body` on the network thread, after everything that was posted before it. From any thread.
    func post(_ body: @escaping @Sendable @NetworkActor () -> Void) {
        hand(over: .body(body))
    }

    func enqueue(_ job: consuming ExecutorJob) {
        hand(over: .job(UnownedJob(job)))
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    func checkIsolated() {
        precondition(isCurrent, "not on the network thread")
    }

    func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Whether the caller is on the network thread.
    var isCurrent: Bool {
        // Only the network thread stores its own number, so comparing it with one's own needs no order.
        thread.load(ordering: .relaxed) == NativeThread.current || Simulated.machine?.isNetworkThread == true
    }

    private func hand(over work: NetworkWork) {
        if let machine = Simulated.machine { return machine.post(work) }
        let wakes = inbox.withLock { $0.push(work) }
        if wakes { signal?.raise() }
    }

    // Apart from `run`: a closure of an isolated function that is given to the standard library checks, each time it runs,
    // that it runs on the actor.

    private func prepareToPoll() -> Bool {
        inbox.withLock { $0.prepareToPoll() }
    }

    private func takeWork(replacement: [NetworkWork]) -> [NetworkWork] {
        inbox.withLock { $0.take(replacement: replacement) }
    }

    private func run() {
        thread.store(NativeThread.current, ordering: .relaxed)
        // `sendfile` has no flag for that.
        BrokenPipe.blockSignalOnThisThread()
        NetworkActor.assumeIsolated {
            let loop = EventLoop.shared
            let executor = asUnownedSerialExecutor()
            var batch: [NetworkWork] = []
            while true {
                loop.turn(waiting: prepareToPoll())
                batch = takeWork(replacement: batch)
                // Work that arrives meanwhile waits until the sockets have been served.
                for work in batch {
                    switch work {
                    case .job(let job): job.runSynchronously(on: executor)
                    case .body(let body): body()
                    }
                }
                batch.removeAll(keepingCapacity: batch.capacity < 4_096)
                loop.endTurn()
            }
        }
    }
}

/// The work that other threads have posted to the network thread, in order.
struct Inbox: Sendable {
    private var pending: [NetworkWork] = []
    private var isWaiting = false

    /// Adds `work`. True when the network thread waits and has not been woken yet: the caller must wake it.
    mutating func push(_ work: NetworkWork) -> Bool {
        pending.append(work)
        defer { isWaiting = false }
        return isWaiting
    }

    /// Announces that the network thread polls next. True when it may wait: from now on the first push wakes it.
    mutating func prepareToPoll() -> Bool {
        isWaiting = pending.isEmpty
        return isWaiting
    }

    /// Takes all work; `replacement` is an empty array whose memory is used again.
    mutating func take(replacement: [NetworkWork]) -> [NetworkWork] {
        isWaiting = false
        let taken = pending
        pending = replacement
        return taken
    }
}

/// One job or closure for the network thread to run.
package enum NetworkWork: Sendable {
    case job(UnownedJob)
    case body(@Sendable @NetworkActor () -> Void)
}
