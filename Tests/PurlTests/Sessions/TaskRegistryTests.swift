import Foundation
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The tasks of a session", .timeLimit(.minutes(5)))
struct TaskRegistryTests {
    @Test("Another thread finds a task only after it has been entered in the journal")
    func preparation() async {
        let registry = TaskRegistry()
        let isPrepared = LockedValue(false)
        let finds = EventLog<Bool>()
        let look = DispatchSemaphore(value: 0)
        _ = registry.addTask { _ in
            URLSessionTask()
        } prepare: { _ in
            Thread.detachNewThread {
                // It may cancel the task now, and the task's last call remove it from the journal.
                let isFound = !registry.unfinishedTasks.isEmpty
                finds.append(isFound && isPrepared.withLock { $0 })
                look.signal()
            }
            // The other thread has to wait; it would find the task in this time, if it could.
            #expect(look.wait(timeout: .now() + .milliseconds(100)) == .timedOut)
            isPrepared.withLock { $0 = true }
            return nil
        }
        await finds.wait { !$0.isEmpty }
        #expect(finds.events == [true])
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
