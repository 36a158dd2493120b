import Foundation

@testable import PurlIO

/// Synchronisation with the network thread.
enum NetworkThread {
    /// Returns when the network thread has done all earlier work.
    static func settle() async {
        await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
    }

    /// Returns when the condition holds, or when the test is cancelled: looks whenever the network thread has done its work.
    ///
    /// For what no event announces, such as the release of an object whose last reference is that thread's.
    static func settle(until condition: () throws -> Bool) async rethrows {
        while try !condition(), !Task.isCancelled { await settle() }
    }

    /// Blocks until the network thread has done all earlier work.
    static func waitUntilSettled() {
        let isDone = DispatchSemaphore(value: 0)
        NetworkActor.post { isDone.signal() }
        isDone.wait()
    }
}
