import Foundation

@testable import PurlIO

/// The network thread, as far as a test has to know of it.
enum Network {
    /// Returns when the network thread has done what it was asked for before this call.
    static func settle() async {
        await withCheckedContinuation { continuation in NetworkActor.post { continuation.resume() } }
    }
}
