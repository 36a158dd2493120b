import Foundation
import PurlTesting
import Synchronization

/// Takes orders. Two requests with one key are one order.
final class Shop: Sendable {
    private struct State {
        var count = 0
        var keys: Set<String> = []
    }

    private let state = Mutex(State())

    /// How many orders it has taken.
    var orderCount: Int { state.withLock { $0.count } }

    func take(_ request: ReceivedRequest) -> Reply {
        let key = request.fields["Idempotency-Key"]
        state.withLock { state in
            let isNew = key.map { state.keys.insert($0).inserted } ?? true
            if isNew { state.count += 1 }
        }
        return .text("ordered")
    }
}
