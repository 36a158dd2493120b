import Foundation

/// Makes a call that blocks on a thread of its own.
///
/// The tasks of all tests share as many threads as there are processors. One that blocks until another task has run holds
/// up every test when the others are taken: for the time of an exit test, the testing library waits for the process on one.
func onOwnThread<Value: Sendable>(_ call: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: call()) }
    }
}
