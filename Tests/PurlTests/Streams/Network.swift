import Foundation

@testable import PurlIO

/// The network thread, as far as a test has to know of it.
enum Network {
    /// Returns when the network thread has done what it was asked for before this call.
    static func settle() async {
        await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
    }

    /// The same, for a thread that can wait.
    static func settled() {
        let isDone = DispatchSemaphore(value: 0)
        NetworkActor.post { isDone.signal() }
        isDone.wait()
    }
}
