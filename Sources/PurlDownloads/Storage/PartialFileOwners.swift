import Foundation
import Synchronization

/// The partial files that attempts in this process are using.
///
/// The lock on a partial file keeps every other writer away, in this process and others. A manager that takes over the
/// folders of one that has just been invalidated would meet that lock: here it waits until the old attempt has released it.
enum PartialFileOwners {
    private struct Owner: Sendable {
        let validity: SchedulerValidity
        /// Called when the file has been released.
        var successors: [@Sendable () -> Void] = []
    }

    private static let owners = Mutex<[String: [Owner]]>([:])

    /// Calls `body` when no invalidated manager uses the file at `path`; usually at once. Each call has to be balanced by
    /// ``release(_:for:)``. A valid manager that uses the same file does not delay the call: the file's lock fails then.
    static func acquire(_ path: String, for validity: SchedulerValidity, then body: @escaping @Sendable () -> Void) {
        let isFree = owners.withLock { owners in
            if let index = owners[path]?.firstIndex(where: { $0.validity !== validity && !$0.validity.isValid }) {
                owners[path]?[index].successors.append { acquire(path, for: validity, then: body) }
                return false
            }
            owners[path, default: []].append(Owner(validity: validity))
            return true
        }
        if isFree { body() }
    }

    /// The attempt has unlocked the file at `path`.
    static func release(_ path: String, for validity: SchedulerValidity) {
        let successors = owners.withLock { owners in
            guard let index = owners[path]?.firstIndex(where: { $0.validity === validity }) else {
                return [@Sendable () -> Void]()
            }
            let owner = owners[path]?.remove(at: index)
            if owners[path]?.isEmpty == true { owners[path] = nil }
            return owner?.successors ?? []
        }
        for successor in successors { successor() }
    }
}
