import Dispatch
import Synchronization
import Testing

@testable import PurlIO

@Suite("A queue on a worker's lane", .timeLimit(.minutes(5)))
struct WorkQueueTests {
    /// A call that blocks its thread until it is let go.
    private final class Gate: Sendable {
        private let entries = Mutex(0)
        private let (passing, toPassing) = AsyncStream<Void>.makeStream()
        private let opening = DispatchSemaphore(value: 0)

        var inside: Int { entries.withLock { $0 } }

        func pass() {
            entries.withLock { $0 += 1 }
            toPassing.yield()
            opening.wait()
            opening.signal()
        }

        func open() { opening.signal() }

        /// Returns when `count` more calls are inside.
        func waitForEntries(_ count: Int) async {
            for await _ in passing.prefix(count) {}
        }
    }

    /// The calls that were made, and how many at once at most.
    private final class Log: Sendable {
        private struct State {
            var numbers: [Int] = []
            var inside = 0
            var mostInside = 0
        }

        private let state = Mutex(State())

        var numbers: [Int] { state.withLock { $0.numbers } }
        var mostInside: Int { state.withLock { $0.mostInside } }

        func enter() {
            state.withLock { state in
                state.inside += 1
                state.mostInside = max(state.mostInside, state.inside)
            }
        }

        func leave(_ number: Int) {
            state.withLock { state in
                state.inside -= 1
                state.numbers.append(number)
            }
        }
    }

    /// Adds itself to a queue again and again until it is stopped.
    private final class Circle: Sendable {
        private let isOver = Atomic(false)

        func begin(on queue: WorkQueue) {
            if !isOver.load(ordering: .relaxed) { queue.async { self.begin(on: queue) } }
        }

        func stop() { isOver.store(true, ordering: .relaxed) }
    }

    private func wait(for queue: WorkQueue) async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    @Test("Calls run in their order, one at a time, from whatever thread they come")
    func order() async {
        let queue = WorkQueue(on: .files)
        let log = Log()
        await withTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<500 {
                        queue.async {
                            log.enter()
                            log.leave(thread * 500 + number)
                        }
                    }
                }
            }
        }
        await wait(for: queue)
        #expect(log.numbers.count == 2_000)
        for thread in 0..<4 {
            let own = log.numbers.filter { $0 / 500 == thread }
            #expect(own == own.sorted())
        }
        #expect(log.mostInside == 1)
    }

    @Test("A call knows that it is one of the queue's, and may wait for another at once")
    func current() async {
        let queue = WorkQueue(on: .files)
        let other = WorkQueue(on: .files)
        #expect(!queue.isCurrent)
        let found = Mutex<[Bool]>([])
        queue.sync {
            queue.sync { found.withLock { $0 = [queue.isCurrent, other.isCurrent] } }
        }
        #expect(found.withLock { $0 } == [true, false])
        await wait(for: queue)
        #expect(!queue.isCurrent)
    }

    @Test(
        "Queues that block hold up no other kind, and those above the bound run when a thread is free",
        arguments: [Worker.Lane.sinks, .bodyStreams, .protocols])
    func bound(_ lane: Worker.Lane) async {
        let worker = Worker()
        let gate = Gate()
        let count = Worker.userThreads + 40
        for _ in 0..<count { WorkQueue(on: lane, of: worker).async { gate.pass() } }
        await gate.waitForEntries(Worker.userThreads)
        for other in [Worker.Lane.files, .downloads, .sinks, .bodyStreams, .protocols, .userCode] where other != lane {
            await wait(for: WorkQueue(on: other, of: worker))
        }
        #expect(gate.inside == Worker.userThreads)
        gate.open()
        await gate.waitForEntries(count - Worker.userThreads)
    }

    @Test("A queue that always has calls leaves its thread to others from time to time")
    func fairness() async {
        let worker = Worker()
        let circle = Circle()
        for _ in 0..<8 { circle.begin(on: WorkQueue(on: .files, of: worker)) }
        await wait(for: WorkQueue(on: .files, of: worker))
        circle.stop()
    }
}
