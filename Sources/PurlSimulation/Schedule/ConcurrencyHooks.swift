import Foundation
import PurlIO
import Synchronization

/// Brings the jobs of Swift's concurrency to the simulation whose thread makes them ready.
///
/// A job without an executor of its own goes to the global pool of threads, whatever a task executor prefers: unstructured
/// tasks, which Purl and programs make, do not inherit that preference. The runtime asks a hook first, where there is one.
enum ConcurrencyHooks {
    // A closure that captures nothing is what the runtime can call.
    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    private static let captureKey: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The simulations by the tasks that belong to them.
    private static let schedulers = Mutex<[UInt64: Reference]>([:])
    /// How many tasks belong to simulations: without one, a job of another thread is none of theirs.
    private static let taskCount = Atomic<Int>(0)

    /// A simulation that has failed may be gone before its last task is.
    private struct Reference: Sendable {
        weak var scheduler: Scheduler?
    }

    private final class Capture {
        fileprivate var job: UnownedJob?
    }

    /// Installs the hook, once. False where the runtime has none.
    static let areInstalled: Bool = {
        guard let program = dlopen(nil, RTLD_NOW), let global = dlsym(program, "swift_task_enqueueGlobal_hook")
        else { return false }
        global.assumingMemoryBound(to: Hook?.self).pointee = { job, enqueue in
            if !ConcurrencyHooks.take(job) { enqueue(job) }
        }
        return true
    }()

    /// Makes a task within `make` that does not run: its first job is returned in its place.
    static func capture(_ make: () -> Void) -> UnownedJob? {
        let capture = Capture()
        pthread_setspecific(captureKey, Unmanaged.passUnretained(capture).toOpaque())
        make()
        pthread_setspecific(captureKey, nil)
        return capture.job
    }

    /// A task belongs to a simulation from now on.
    static func register(_ task: UInt64, of scheduler: Scheduler) {
        schedulers.withLock { $0[task] = Reference(scheduler: scheduler) }
        taskCount.add(1, ordering: .relaxed)
    }

    /// The tasks of a simulation are over.
    static func forget(_ tasks: some Sequence<UInt64>) {
        schedulers.withLock { schedulers in
            for task in tasks where schedulers.removeValue(forKey: task) != nil {
                taskCount.subtract(1, ordering: .relaxed)
            }
        }
    }

    /// The simulation to which a task belongs; `nil` for none, and for one that is gone.
    static func scheduler(of task: UInt64) -> Scheduler? {
        schedulers.withLock { $0[task]?.scheduler }
    }

    private static func take(_ job: UnownedJob) -> Bool {
        if let scheduler = Scheduler.ofThread {
            scheduler.enqueue(job)
            return true
        }
        if let capture = pthread_getspecific(captureKey) {
            Unmanaged<Capture>.fromOpaque(capture).takeUnretainedValue().job = job
            return true
        }
        guard taskCount.load(ordering: .relaxed) > 0, let task = job.taskNumber,
            let reference = schedulers.withLock({ $0[task] })
        else { return false }
        reference.scheduler?.refuseFromOutside(
            """
            a task was woken by another thread, as by Task.sleep, Task.yield, the main actor or a queue of Dispatch's: \
            wait by World.sleep or World.clock, and use nothing that runs on threads
            """)
        return true
    }
}

extension UnownedJob {
    /// What tells the task apart that this is a job of; `nil` for the job of an actor.
    var taskNumber: UInt64? {
        // The kind of a job is in the lowest byte of its flags; that of a task is 0.
        let object = unsafeBitCast(self, to: UnsafeRawPointer.self)
        let flags = object.load(fromByteOffset: 4 * MemoryLayout<UnsafeRawPointer>.size, as: UInt32.self)
        return flags & 0xff == 0 ? taskIdentifier(of: self) : nil
    }

    /// Runs the job as a thread of the global pool does.
    func runAsGlobal() {
        runSynchronously(on: unsafeBitCast((0, 0), to: UnownedSerialExecutor.self))
    }
}

@_silgen_name("swift_task_getJobTaskId")
private func taskIdentifier(of job: UnownedJob) -> UInt64
