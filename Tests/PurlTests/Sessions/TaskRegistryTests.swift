import Foundation
import Synchronization
import Testing

@testable import Purl

@Suite("The tasks of a session", .timeLimit(.minutes(5)))
struct TaskRegistryTests {
    @Test("Another thread finds a task only after it has been entered in the journal")
    func preparation() async {
        let registry = TaskRegistry()
        let progress = Progress()
        let other = Task.detached {
            while registry.unfinishedTasks.isEmpty { progress.look() }
            // It may cancel the task now, and the task's last call remove it from the journal.
            return progress.find()
        }
        while !progress.isLooking { await Task.yield() }
        _ = registry.addTask { _ in
            URLSessionTask()
        } prepare: { _ in
            // Enough for the other thread to find the task, if it could.
            for _ in 0..<20_000 where !progress.isFound { sched_yield() }
            progress.prepare()
            return nil
        }
        #expect(await other.value)
    }

    @Test("A task that a session refuses is not entered in the journal")
    func refused() {
        let registry = TaskRegistry()
        registry.close()
        let task = registry.addTask { _ in
            URLSessionTask()
        } prepare: { _ in
            Issue.record("entered")
            return nil
        }
        #expect(task.refusal != nil)
        #expect(registry.unfinishedTasks == [])
    }
}

/// What has happened to a task.
private final class Progress: Sendable {
    private let state = Mutex((isLooking: false, isPrepared: false, isFound: false))

    /// Whether the other thread has begun to look for it.
    var isLooking: Bool { state.withLock { $0.isLooking } }
    var isFound: Bool { state.withLock { $0.isFound } }

    func look() {
        state.withLock { $0.isLooking = true }
    }

    func prepare() {
        state.withLock { $0.isPrepared = true }
    }

    /// Whether it was prepared before.
    func find() -> Bool {
        state.withLock { state in
            state.isFound = true
            return state.isPrepared
        }
    }
}
