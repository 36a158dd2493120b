import Foundation
import Synchronization
import Testing

@testable import PurlIO

@Suite("The network thread is the actor's executor")
struct NetworkActorTests {
    @Test func jobsAndPostedClosuresRunInTheOrderInWhichTheyWerePosted() async {
        let order = await withCheckedContinuation { continuation in
            let order = Order(expected: 1_000) { continuation.resume(returning: $0) }
            for number in 0..<1_000 {
                if number % 2 == 0 {
                    NetworkActor.post { order.append(number) }
                } else {
                    Task { @NetworkActor in order.append(number) }
                }
            }
        }
        #expect(order == Array(0..<1_000))
    }

    @Test func workFromManyThreadsArrivesCompleteAndEachInItsOrder() async {
        let order = await withCheckedContinuation { continuation in
            let order = Order(expected: 16_000) { continuation.resume(returning: $0) }
            for sender in 0..<8 {
                let started = NativeThread.start("sender") {
                    for number in 0..<2_000 { NetworkActor.post { order.append(sender * 2_000 + number) } }
                }
                #expect(started)
            }
        }
        for sender in 0..<8 {
            let own = order.filter { $0 / 2_000 == sender }
            #expect(own == Array(sender * 2_000..<(sender + 1) * 2_000))
        }
    }

    @Test func anActorJobReturnsToItsCaller() async {
        let isOnThread = await Task { @NetworkActor in NetworkActor.shared.executor.isCurrent }.value
        #expect(isOnThread)
        #expect(!NetworkActor.shared.executor.isCurrent)
    }

    @Test func workThatNeverEndsDoesNotStarveSockets() async throws {
        let text = try await Task { @NetworkActor in
            let (near, far) = try StreamSocket.pair()
            let chain = Chain()
            chain.continue()
            let handler = Recorder()
            near.handler = handler
            near.interest = .read
            try far.send("still here")
            return await withCheckedContinuation { continuation in
                handler.onReadable = { socket in
                    chain.isDone = true
                    socket.interest = []
                    continuation.resume(returning: try? socket.receive())
                }
            }
        }.value
        #expect(text == "still here")
    }

    @Test func callbacksOfTheLoopAreIsolatedWithoutBeingJobs() async {
        let value = await withCheckedContinuation { continuation in
            NetworkActor.post {
                EventLoop.shared.schedule(after: .zero) {
                    NetworkActor.shared.preconditionIsolated()
                    continuation.resume(returning: valueOfTheThread())
                }
            }
        }
        #expect(value == 42)
    }

    @Test func assumeIsolatedPassesValuesAndErrorsOn() async {
        struct Failure: Error, Equatable {}
        await Task { @NetworkActor in
            #expect(NetworkActor.assumeIsolated { 5 } == 5)
            #expect(throws: Failure()) { try NetworkActor.assumeIsolated { throw Failure() } }
        }.value
    }

    @Test func assumeIsolatedTrapsOnAnyOtherThread() async {
        await #expect(processExitsWith: .failure) {
            // Without a backtrace, which takes seconds to make and which the test does not read.
            for trap in [SIGILL, SIGTRAP] { signal(trap, SIG_DFL) }
            NetworkActor.assumeIsolated {}
        }
    }

    @Test func timersRunWhileNothingElseHappens() async {
        await withCheckedContinuation { continuation in
            NetworkActor.post {
                EventLoop.shared.schedule(after: .milliseconds(20)) { continuation.resume() }
            }
        }
    }

    @Test func aSocketReleasedOnAnotherThreadIsClosed() async throws {
        let owner = Owner()
        let far = try await Task { @NetworkActor in
            let (near, far) = try StreamSocket.pair()
            owner.keep(near)
            return far
        }.value
        let end = await withCheckedContinuation { continuation in
            NetworkActor.post {
                let handler = Recorder()
                handler.onReadable = { socket in
                    _ = handler
                    socket.interest = []
                    continuation.resume(returning: try? socket.receive())
                }
                far.handler = handler
                far.interest = .read
            }
            _ = NativeThread.start("last owner") { owner.release() }
        }
        #expect(end == "")
    }
}

/// Keeps a socket for any thread.
private final class Owner: Sendable {
    private let socket = Mutex<StreamSocket?>(nil)

    func keep(_ socket: StreamSocket) {
        self.socket.withLock { $0 = socket }
    }

    func release() {
        socket.withLock { $0 = nil }
    }
}

/// Not isolated itself, as a C callback would be.
private func valueOfTheThread() -> Int {
    NetworkActor.assumeIsolated { 42 }
}

/// Collects numbers until all expected ones are there.
@NetworkActor private final class Order {
    private var numbers: [Int] = []
    private let expected: Int
    private let done: @Sendable ([Int]) -> Void

    nonisolated init(expected: Int, done: @escaping @Sendable ([Int]) -> Void) {
        self.expected = expected
        self.done = done
    }

    func append(_ number: Int) {
        numbers.append(number)
        if numbers.count == expected { done(numbers) }
    }
}

/// Work that makes more work.
@NetworkActor private final class Chain {
    var isDone = false

    func `continue`() {
        if !isDone { NetworkActor.post { self.continue() } }
    }
}
