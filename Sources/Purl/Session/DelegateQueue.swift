import Foundation
internal import PurlIO
import Synchronization

/// Runs a session's calls to its delegate and handlers, in order, one at a time, on the program's `OperationQueue`.
///
/// The program's queue may be concurrent, be suspended or cancel its operations; none of that may reorder or lose a
/// call. So the calls wait in a list of Purl's own, and at most one operation at a time works through it.
///
/// On a queue that the program gave, each call is an operation of its own, which is added when the one before it has returned:
/// what the program adds to its queue from within a call runs before the next call. Only the last calls of a task, those with
/// the file, the metrics and the completion, are one operation together: what is added from within one of them runs after
/// the completion, as with FoundationNetworking, which adds their operations at the same time. A session's own queue runs many
/// calls in one operation, until an operation of the program's waits behind it. To add an operation costs more than most calls
/// do, so one that has made all calls waits a few milliseconds for others before it ends.
final class DelegateQueue: Sendable {
    typealias Call = @Sendable () -> Void

    private enum Kind {
        case given
        case own(SerialQueue)
        /// Of a simulated process, which has no other.
        case simulated(any SimulatedCallQueue)
    }

    /// How many calls one operation of a session's own queue makes at most.
    private static let callsOfOperation = 256

    let operations: OperationQueue
    private let kind: Kind
    private let calls = CallList()

    /// - Parameter operations: Where calls run; `nil` makes a serial queue of the session's own.
    init(_ operations: OperationQueue?) {
        if let machine = Simulated.machine {
            if operations != nil {
                machine.refuse("a session has an operation queue for its delegate, which runs on threads: set nil")
            }
            // It takes no place in a pool of threads: a simulated process that is killed keeps its sessions for good.
            self.operations = operations ?? OperationQueue()
            kind = .simulated(machine.makeCallQueue())
        } else if let operations {
            self.operations = operations
            kind = .given
        } else {
            let own = SerialQueue(calls)
            self.operations = own
            kind = .own(own)
        }
    }

    /// Adds a call after all earlier ones. From any thread.
    func enqueue(_ call: @escaping Call) {
        if case .simulated(let queue) = kind { return queue.add(call) }
        // A thread is woken once for all the calls of a turn.
        switch calls.append(call) {
        case .running: break
        case .waiting: NetworkActor.afterTurn { self.calls.wakeOperation() }
        case .none: NetworkActor.afterTurn { self.addOperation() }
        }
    }

    private func addOperation() {
        switch kind {
        case .given: operations.addOperation(DelegateOperation(self))
        case .own(let own): own.addOwn(DelegateOperation(self))
        case .simulated: break
        }
    }

    /// Makes the next call, or several, and adds an operation for what is left.
    fileprivate func run() {
        switch kind {
        case .given: calls.takeFirst()?()
        case .own(let own): guard makesCalls(on: own) else { return }
        case .simulated: return
        }
        if !calls.endsOperation() { addOperation() }
    }

    /// Makes at least one call, then others as long as nothing of the program's is in the way. False when no call is left,
    /// and the operation is over.
    private func makesCalls(on own: SerialQueue) -> Bool {
        var count = 0
        repeat {
            if let call = calls.takeFirst() {
                call()
                count += 1
            } else if !calls.waitsForCall() {
                return false
            }
        } while count < Self.callsOfOperation && !calls.isInterrupted && !own.isSuspended
        return true
    }
}

/// The calls that wait, oldest first, and what their operation does.
private final class CallList: Sendable {
    typealias Call = DelegateQueue.Call

    /// What the operation does that will make the calls.
    enum OperationState {
        /// There is no operation.
        case none
        /// The operation is in the program's queue, or makes calls.
        case running
        /// The operation has made all calls, and waits to be woken for others.
        case waiting
    }

    private struct State {
        var incoming: [Call] = []
        /// The calls that were added before `incoming`, the oldest last.
        var next: [Call] = []
        var operation = OperationState.none
        /// The program has added operations since the session's last one.
        var isInterrupted = false

        var isEmpty: Bool { next.isEmpty && incoming.isEmpty }
    }

    /// How long an operation waits for a call.
    private static let patience = DispatchTimeInterval.milliseconds(5)

    private let state = Mutex(State())
    /// Signalled once by the call that ends the wait of an operation.
    private let bell = DispatchSemaphore(value: 0)

    /// Adds a call. Returns what the operation did until now: unless it was running, the caller has to wake or to add it.
    func append(_ call: @escaping Call) -> OperationState {
        state.withLock { state in
            state.incoming.append(call)
            defer { state.operation = .running }
            return state.operation
        }
    }

    func takeFirst() -> Call? {
        state.withLock { state in
            if state.next.isEmpty {
                if state.incoming.count == 1 { return state.incoming.removeLast() }
                swap(&state.next, &state.incoming)
                state.next.reverse()
            }
            return state.next.popLast()
        }
    }

    /// True when no call waits; the operation that asks is then over.
    func endsOperation() -> Bool {
        state.withLock { state in
            guard state.isEmpty else { return false }
            state.operation = .none
            return true
        }
    }

    // MARK: A session's own queue

    /// Whether an operation of the program's waits.
    var isInterrupted: Bool { state.withLock { $0.isInterrupted } }

    /// Waits until there is a call, or an operation of the program's. False when neither has come; the operation that asks is
    /// then over.
    func waitsForCall() -> Bool {
        let waits = state.withLock { state in
            guard state.isEmpty, !state.isInterrupted else { return false }
            state.operation = .waiting
            return true
        }
        guard waits, bell.wait(timeout: .now() + Self.patience) == .timedOut else { return true }
        let isOver = state.withLock { state in
            guard case .waiting = state.operation else { return false }
            state.operation = .none
            return true
        }
        // Or else the signal is on its way, and must not end the next wait.
        if !isOver { bell.wait() }
        return !isOver
    }

    /// Ends the wait of the operation, after `append` has returned that it waits.
    func wakeOperation() {
        bell.signal()
    }

    /// The program adds operations: that of the session must not keep them waiting.
    func interrupt() {
        let wakes = state.withLock { state in
            state.isInterrupted = true
            guard case .waiting = state.operation else { return false }
            state.operation = .running
            return true
        }
        if wakes { bell.signal() }
    }

    /// The session's operation is added behind all that the program has added.
    func startAfterInterruption() {
        state.withLock { $0.isInterrupted = false }
    }
}

/// A session's own queue. A serial dispatch queue below it gets a thread whenever it has work; without one,
/// operations share as many threads as there are processors, and a few delegates that block would hold up every
/// session.
private final class SerialQueue: OperationQueue, @unchecked Sendable {
    private static let pools = Mutex(DelegatePools())

    // Guarded by being immutable. An operation queue does not keep its underlying queue alive, hence this.
    private let dispatchQueue: DispatchQueue
    private let pool: Int
    private let calls: CallList

    init(_ calls: CallList) {
        self.calls = calls
        pool = Self.pools.withLock { $0.add() }
        dispatchQueue = DispatchQueue(label: "Purl.URLSession delegate", qos: DelegatePools.qualities[pool])
        super.init()
        name = dispatchQueue.label
        maxConcurrentOperationCount = 1
        underlyingQueue = dispatchQueue
    }

    deinit {
        Self.pools.withLock { $0.remove(from: pool) }
    }

    /// Adds the session's operation, behind all that the program has added.
    func addOwn(_ operation: Operation) {
        calls.startAfterInterruption()
        super.addOperation(operation)
    }

    override func addOperation(_ operation: Operation) {
        calls.interrupt()
        super.addOperation(operation)
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
        calls.interrupt()
        super.addOperation(block)
    }

    override func addOperations(_ operations: [Operation], waitUntilFinished wait: Bool) {
        calls.interrupt()
        super.addOperations(operations, waitUntilFinished: wait)
    }

    override func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
        calls.interrupt()
        super.addBarrierBlock(barrier)
    }

    override func waitUntilAllOperationsAreFinished() {
        calls.interrupt()
        super.waitUntilAllOperationsAreFinished()
    }
}

/// Divides the queues of sessions among pools of threads, so that delegates that block keep the threads of no others.
///
/// On Linux Dispatch has a pool for all queues of a quality of service, which makes no other difference there. A queue takes
/// one thread of its pool at most, so while a pool has no more queues than threads, each has one whenever it needs it,
/// whatever the others do. The pool of queues without a quality is left to the program.
struct DelegatePools: Sendable {
    /// The quality of service that stands for each pool.
    static let qualities: [DispatchQoS] = [.userInitiated, .utility, .background]
    /// How many threads a pool has.
    static let threads = 255

    private var queues = [Int](repeating: 0, count: Self.qualities.count)

    /// Adds a queue to a pool: the first that has a thread for it, or else the one with the fewest queues.
    mutating func add() -> Int {
        let free = queues.firstIndex { $0 < Self.threads }
        let pool = free ?? queues.indices.min { queues[$0] < queues[$1] } ?? 0
        queues[pool] += 1
        return pool
    }

    /// Removes a queue from its pool.
    mutating func remove(from pool: Int) {
        queues[pool] -= 1
    }
}

/// An operation that makes calls. Cancelling it does nothing: a call is made exactly once, whatever happens to the
/// operation queue.
private final class DelegateOperation: Operation, @unchecked Sendable {
    // Guarded by being immutable.
    private let queue: DelegateQueue

    init(_ queue: DelegateQueue) { self.queue = queue }

    override func main() { queue.run() }
    override func cancel() {}
}
