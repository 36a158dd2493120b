import Foundation
import Purl

/// The solution of exercise 1.
final class Solution1: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Guarded by the session's queue: one call at a time.
    private var count = PieceCount()
    private let onEnd: @Sendable (PieceCount) -> Void

    init(_ onEnd: @escaping @Sendable (PieceCount) -> Void) {
        self.onEnd = onEnd
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        count.pieces += 1
        count.bytes += data.count
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        count.isComplete = error == nil
        onEnd(count)
    }
}
