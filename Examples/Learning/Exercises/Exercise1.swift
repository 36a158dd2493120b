import Foundation
import Purl

/// What a delegate has counted of one transfer.
struct PieceCount: Sendable, Equatable {
    /// How often `didReceive data` was called.
    var pieces = 0
    /// How many bytes came with these calls.
    var bytes = 0
    /// Whether the transfer has ended without an error.
    var isComplete = false
}

/// Exercise 1: counts the pieces of a body and their bytes, and calls `onEnd` with them when the transfer has ended.
///
/// Here the counts are never kept, and every end is taken for a success.
final class Exercise1: NSObject, URLSessionDataDelegate {
    private let onEnd: @Sendable (PieceCount) -> Void

    init(_ onEnd: @escaping @Sendable (PieceCount) -> Void) {
        self.onEnd = onEnd
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        // Count the piece here.
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        onEnd(PieceCount(isComplete: true))
    }
}
