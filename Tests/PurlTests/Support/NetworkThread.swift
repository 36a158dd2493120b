import Foundation

@testable import PurlIO

/// Synchronisation with the network thread.
enum NetworkThread {
    /// Returns when the network thread has done all earlier work.
    static func settle() async {
        await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
    }

    /// Blocks until the network thread has done all earlier work.
    static func waitUntilSettled() {
        let isDone = DispatchSemaphore(value: 0)
        NetworkActor.post { isDone.signal() }
        isDone.wait()
    }
}
