import Foundation
import Synchronization

/// A manager's list: the unfinished downloads in the order in which they were asked for.
final class Roster: Sendable {
    private struct State: Sendable {
        var order: [Downloader] = []
        var byKey: [String: Downloader] = [:]
        var lastOrder: Int64 = 0
    }

    private let state = Mutex(State())

    /// An order number later than all that were given before, in other processes too.
    static var orderOfNow: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    var downloads: [Downloader] { state.withLock { $0.order } }

    /// The next order number.
    func nextOrder() -> Int64 {
        state.withLock { state in
            state.lastOrder = max(state.lastOrder + 1, Self.orderOfNow)
            return state.lastOrder
        }
    }

    func downloader(for url: URL) -> Downloader? {
        let key = DownloadPlaces.key(of: url)
        return state.withLock { $0.byKey[key] }
    }

    /// Adds a download, unless there is one of the same URL; returns the one that is in the list.
    @discardableResult
    func add(_ downloader: Downloader, order: Int64) -> Downloader {
        state.withLock { state in
            if let present = state.byKey[downloader.key] { return present }
            state.lastOrder = max(state.lastOrder, order)
            state.byKey[downloader.key] = downloader
            state.order.append(downloader)
            return downloader
        }
    }

    /// Adds a download that is wanted again after it was deleted.
    func restore(_ downloader: Downloader) { add(downloader, order: 0) }

    func remove(_ downloader: Downloader) {
        state.withLock { state in
            guard state.byKey[downloader.key] === downloader else { return }
            state.byKey[downloader.key] = nil
            state.order.removeAll { $0 === downloader }
        }
    }
}
