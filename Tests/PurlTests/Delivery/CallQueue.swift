import Foundation
import Purl

/// Where a session's calls may be asked to run.
enum CallQueue: CaseIterable, Sendable {
    case main
    case serial
    case concurrent
    /// None is given: the session makes one.
    case own

    /// A queue to give to a session.
    func make() -> OperationQueue? {
        switch self {
        case .main:
            return .main
        case .own:
            return nil
        case .serial, .concurrent:
            let queue = OperationQueue()
            queue.name = "\(self)"
            queue.maxConcurrentOperationCount = self == .serial ? 1 : 8
            return queue
        }
    }
}
