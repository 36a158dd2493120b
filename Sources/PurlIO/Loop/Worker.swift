import Dispatch
import Synchronization

/// Threads for calls that may block: the network thread and callers hand them over and continue.
///
/// Each kind of call has a lane of its own, so that name look-ups that hang hold up no file, and code of the user's that
/// blocks holds up only its kind. A lane runs its calls in the order in which they were handed over, several at a time; a
/// ``WorkQueue`` runs its own one at a time. The threads start when they are needed, and end when a second has passed
/// without work. They are not threads of Dispatch's, which all serial queues of a process share, and which blocked calls
/// use up.
package final class Worker: Sendable {
    /// The kinds of calls.
    package enum Lane: Sendable, CaseIterable {
        /// Reading, writing, measuring and removing files.
        case files
        /// Waiting until files have reached the disk. No other call waits behind these, and few of them together.
        case synchronization
        /// Name look-ups. The lane has many threads, since one that a server leaves without an answer keeps its own for
        /// half a minute.
        case names
        /// The arithmetic of handshakes, which does not wait but would keep the network thread for a millisecond a
        /// connection. The lane leaves one processor to that thread.
        case handshakes
        /// Code of the user's that is not called on the delegate queue, such as a cache of the user's own, and observers of
        /// notifications.
        case userCode
        /// Partial files of downloads: a folder that hangs holds up no other file.
        case downloads
        /// Sinks of the user's, which may block for as long as they like, as those of the next two lanes may.
        case sinks
        /// Streams of the user's that are request bodies.
        case bodyStreams
        /// Protocols of the user's.
        case protocols
    }

    /// The worker of this process.
    package static let shared = Worker()

    /// Starts a thread with a name and a stack of so many bytes; false when the system has none left.
    typealias StartThread = @Sendable (String, Int, @escaping @Sendable () -> Void) -> Bool

    private let files: LaneThreads
    private let synchronization: LaneThreads
    private let names: LaneThreads
    private let handshakes: LaneThreads
    private let userCode: LaneThreads
    private let downloads: LaneThreads
    private let sinks: LaneThreads
    private let bodyStreams: LaneThreads
    private let protocols: LaneThreads

    /// How many threads of one kind user code can block before others of its kind wait.
    static let userThreads = 256

    init(startThread: @escaping StartThread = { NativeThread.start($0, stackSize: $1, $2) }) {
        files = LaneThreads("purl-files", maximum: 8, stackSize: 2 << 20, startThread)
        synchronization = LaneThreads("purl-sync", maximum: 4, stackSize: 2 << 20, startThread)
        names = LaneThreads("purl-names", maximum: 512, stackSize: 2 << 20, startThread)
        handshakes = LaneThreads(
            "purl-handshakes", maximum: max(1, Platform.processorCount - 1), stackSize: 2 << 20, startThread)
        userCode = LaneThreads("purl-user", maximum: 64, stackSize: 8 << 20, startThread)
        downloads = LaneThreads("purl-downloads", maximum: 32, stackSize: 2 << 20, startThread)
        let many = Self.userThreads
        sinks = LaneThreads("purl-sinks", maximum: many, stackSize: 8 << 20, startThread)
        bodyStreams = LaneThreads("purl-bodies", maximum: many, stackSize: 8 << 20, startThread)
        protocols = LaneThreads("purl-protocols", maximum: many, stackSize: 8 << 20, startThread)
    }

    /// Runs `work` on a thread of `lane`. If the system has no thread left, `work` waits for one.
    package func run(on lane: Lane, _ work: @escaping @Sendable () -> Void) {
        if let machine = Simulated.machine { return machine.run(work, on: lane) }
        threads(of: lane).add(Job(run: work))
    }

    /// Runs `work` on a thread of `lane`, then calls `completion` with its result on the network thread.
    package func run<Result: Sendable>(
        on lane: Lane, _ work: @escaping @Sendable () -> Result,
        then completion: @escaping @Sendable @NetworkActor (Result) -> Void
    ) {
        run(on: lane) {
            let result = work()
            NetworkActor.post { completion(result) }
        }
    }

    /// Runs code of the user's within this call, or on a thread of its own when the caller is the network thread, which must
    /// not wait for it.
    package func runUserCode(_ call: @escaping @Sendable () -> Void) {
        if NetworkActor.shared.executor.isCurrent { run(on: .userCode, call) } else { call() }
    }

    /// Runs `work` on a thread of `lane`, or calls `refused` when the lane has no thread and the system has none left.
    func run(
        on lane: Lane, _ work: @escaping @Sendable () -> Void,
        orElse refused: @escaping @Sendable (SystemError) -> Void
    ) {
        if let machine = Simulated.machine { return machine.run(work, on: lane) }
        threads(of: lane).add(Job(run: work, refuse: refused))
    }

    private func threads(of lane: Lane) -> LaneThreads {
        switch lane {
        case .files: files
        case .synchronization: synchronization
        case .names: names
        case .handshakes: handshakes
        case .userCode: userCode
        case .downloads: downloads
        case .sinks: sinks
        case .bodyStreams: bodyStreams
        case .protocols: protocols
        }
    }
}

/// The threads of one lane.
private final class LaneThreads: Sendable {
    private let name: String
    private let stackSize: Int
    private let startThread: Worker.StartThread
    private let queue: Mutex<JobQueue>
    /// Raised once for every idle thread that ``JobQueue/add(_:)`` has claimed.
    private let wakeUp = DispatchSemaphore(value: 0)

    init(_ name: String, maximum: Int, stackSize: Int, _ startThread: @escaping Worker.StartThread) {
        self.name = name
        self.stackSize = stackSize
        self.startThread = startThread
        queue = Mutex(JobQueue(maximumThreads: maximum))
    }

    func add(_ job: Job) {
        switch queue.withLock({ $0.add(job) }) {
        case .wakeThread: wakeUp.signal()
        case .startThread: start()
        case .wait: break
        }
    }

    private func start() {
        if startThread(name, stackSize, { self.work() }) { return }
        let stranded = queue.withLock { $0.threadDidNotStart() }
        let error = SystemError(code: EAGAIN, operation: "pthread_create")
        for job in stranded {
            if let refuse = job.refuse { refuse(error) } else { addLater(job) }
        }
    }

    private func addLater(_ job: Job) {
        NetworkActor.post {
            EventLoop.shared.schedule(after: .milliseconds(10)) { self.add(job) }
        }
    }

    private func work() {
        while true {
            if let job = queue.withLock({ $0.next() }) {
                job.run()
            } else if wakeUp.wait(timeout: .now() + 1) == .timedOut {
                if queue.withLock({ $0.endIdleThread() }) { return }
                // A job claimed this thread at the last moment.
                wakeUp.wait()
            }
        }
    }
}

/// A call that a lane is to make.
struct Job: Sendable {
    let run: @Sendable () -> Void
    /// Called in place of `run` when there is no thread for it; `nil`: the job waits for one.
    var refuse: (@Sendable (SystemError) -> Void)?
}

/// The jobs of one lane, and how many threads it has.
struct JobQueue: Sendable {
    /// What a new job needs.
    enum Need: Sendable {
        case startThread, wakeThread
        /// All threads are busy, and there may be no more of them.
        case wait
    }

    private let maximumThreads: Int
    private var waiting: [Job] = []
    private var threads = 0
    /// Threads that wait, and that no job has claimed.
    private var idle = 0

    init(maximumThreads: Int) {
        self.maximumThreads = maximumThreads
    }

    /// Adds a job; the caller does what it needs.
    mutating func add(_ job: Job) -> Need {
        waiting.append(job)
        if idle > 0 {
            idle -= 1
            return .wakeThread
        }
        guard threads < maximumThreads else { return .wait }
        threads += 1
        return .startThread
    }

    /// The job for a thread to run; `nil`: the thread is idle from now on.
    mutating func next() -> Job? {
        if waiting.isEmpty {
            idle += 1
            return nil
        }
        return waiting.removeFirst()
    }

    /// An idle thread wants to end. False when a job has claimed it.
    mutating func endIdleThread() -> Bool {
        guard idle > 0 else { return false }
        idle -= 1
        threads -= 1
        return true
    }

    /// The system had no thread. Returns, and removes, the jobs that no other thread will run.
    mutating func threadDidNotStart() -> [Job] {
        threads -= 1
        guard threads == 0 else { return [] }
        defer { waiting = [] }
        return waiting
    }
}
