import Synchronization

/// The I/O thread: takes the actor's jobs and posted closures from any thread, and runs them between turns of the loop.
final class NetworkExecutor: SerialExecutor {
    private let inbox = Mutex(Inbox())
    private let thread = Atomic<UInt>(0)
    /// Nil when the process had no descriptor left for it; then the loop looks for work every few milliseconds.
    let signal: WakeSignal?

    init() {
        signal = try? WakeSignal()
    }

    /// Starts the thread, waiting for the system to have one to give.
    func start() {
        while !NativeThread.start("purl-io", { self.run() }) {
            Platform.sleep(milliseconds: 10)
        }
    }

    /// Runs `body` on the I/O thread, after everything that was handed over before it. From any thread.
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
        precondition(isCurrent, "not on the I/O thread")
    }

    func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    /// Whether the caller is on the I/O thread.
    var isCurrent: Bool {
        // Only the I/O thread ever stores its own number, so no order is needed to compare it with one's own.
        thread.load(ordering: .relaxed) == NativeThread.current
    }

    private func hand(over work: Work) {
        let wakes = inbox.withLock { $0.push(work) }
        if wakes { signal?.raise() }
    }

    private func run() {
        thread.store(NativeThread.current, ordering: .relaxed)
        // Sending from a file has no flag that says so.
        BrokenPipe.holdBackSignalForGood()
        NetworkActor.assumeIsolated {
            let loop = EventLoop.shared
            let executor = asUnownedSerialExecutor()
            var batch: [Work] = []
            while true {
                let isIdle = inbox.withLock { $0.prepareToWait() }
                loop.turn(waiting: isIdle)
                batch = inbox.withLock { $0.take(replacement: batch) }
                // Only what was there: work that arrives meanwhile waits until the sockets had their turn.
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
