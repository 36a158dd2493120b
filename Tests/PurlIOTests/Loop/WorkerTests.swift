import Dispatch
import Synchronization
import Testing

@testable import PurlIO

@Suite("A worker runs calls that may block")
struct WorkerTests {
    @Test func theResultArrivesOnTheNetworkThread() async {
        let (result, isOnThread) = await withCheckedContinuation { continuation in
            Worker.shared.run(on: .files) {
                NetworkActor.shared.executor.isCurrent ? "on the network thread" : "elsewhere"
            } then: { result in
                continuation.resume(returning: (result, NetworkActor.shared.executor.isCurrent))
            }
        }
        #expect(result == "elsewhere")
        #expect(isOnThread)
    }

    @Test func lookUpsThatHangHoldUpNoFile() async {
        let worker = Worker()
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<100 { worker.run(on: .names) { gate.wait() } }
        for lane in [Worker.Lane.files, .userCode] {
            await withCheckedContinuation { continuation in
                worker.run(on: lane) { continuation.resume() }
            }
        }
        for _ in 0..<100 { gate.signal() }
    }

    @Test func workWaitsForAThread() async {
        let refusals = Mutex(3)
        let worker = Worker { name, stackSize, body in
            let isRefused = refusals.withLock { count in
                defer { count -= 1 }
                return count > 0
            }
            return !isRefused && NativeThread.start(name, stackSize: stackSize, body)
        }
        await withCheckedContinuation { continuation in
            worker.run(on: .files) { continuation.resume() }
        }
        #expect(refusals.withLock { $0 } == -1)
    }

    @Test func aThreadIsUsedAgain() async {
        let starts = Mutex(0)
        let worker = Worker { name, stackSize, body in
            starts.withLock { $0 += 1 }
            return NativeThread.start(name, stackSize: stackSize, body)
        }
        let start = ContinuousClock.now
        for _ in 0..<1_000 {
            await withCheckedContinuation { continuation in
                worker.run(on: .files) { continuation.resume() }
            }
        }
        // A thread ends, and makes room for another one, when it has had no work for a second.
        let seconds = Int(start.duration(to: .now).components.seconds)
        #expect(starts.withLock { $0 } <= 8 * (1 + seconds))
    }
}

@Suite("The job queue of a lane")
struct JobQueueTests {
    private var queue = JobQueue(maximumThreads: 2)
    private let job = Job {}

    @Test mutating func jobsStartThreadsUpToTheMaximum() {
        let needs = (0..<4).map { _ in queue.add(job) }
        #expect(needs == [.startThread, .startThread, .wait, .wait])
    }

    @Test mutating func jobsRunInTheirOrder() {
        let log = Log()
        for number in 0..<3 { _ = queue.add(Job { log.append(number) }) }
        while let next = queue.next() { next.run() }
        #expect(log.numbers == [0, 1, 2])
    }

    @Test mutating func anIdleThreadTakesTheNextJob() {
        _ = queue.add(job)
        #expect(queue.next() != nil)
        #expect(queue.next() == nil)
        #expect(queue.add(job) == .wakeThread)
        #expect(queue.add(job) == .startThread)
    }

    @Test mutating func anIdleThreadEndsAndMakesRoomForAnother() {
        for _ in 0..<2 { _ = queue.add(job) }
        while queue.next() != nil {}
        #expect(queue.endIdleThread() == true)
        #expect(queue.add(job) == .startThread)
    }

    @Test mutating func aThreadThatAJobHasClaimedDoesNotEnd() {
        _ = queue.add(job)
        while queue.next() != nil {}
        _ = queue.add(job)
        #expect(queue.endIdleThread() == false)
        #expect(queue.next() != nil)
    }

    @Test mutating func jobsAreReturnedOnceNoThreadIsLeftForThem() {
        for _ in 0..<3 { _ = queue.add(job) }
        #expect(queue.threadDidNotStart().isEmpty)
        #expect(queue.threadDidNotStart().count == 3)
        #expect(queue.add(job) == .startThread)
    }
}

private final class Log: Sendable {
    private let state = Mutex<[Int]>([])

    var numbers: [Int] { state.withLock { $0 } }

    func append(_ number: Int) {
        state.withLock { $0.append(number) }
    }
}
