import Foundation
import Synchronization

/// Which partial files this process is at work on.
///
/// The lock on a partial file keeps others off, other processes included. A manager that takes over the folders of
/// one that has just been invalidated must not run into that lock, though: it waits here until the other has let go.
enum Occupancy {
    private struct Occupant: Sendable {
        let life: EngineLife
        /// Who wants to come in afterwards.
        var successors: [@Sendable () -> Void] = []
    }

    private static let occupants = Mutex<[String: [Occupant]]>([:])

    /// Calls `then` when no manager that has ended is at work on the file at `path`; at once, most of the time.
    /// Whoever is called has come in, and has to ``leave(_:life:)``. It may meet a manager that is alive: the file's
    /// lock tells it so.
    static func enter(_ path: String, life: EngineLife, then: @escaping @Sendable () -> Void) {
        let isFree = occupants.withLock { occupants in
            if let index = occupants[path]?.firstIndex(where: { $0.life !== life && !$0.life.isValid }) {
                occupants[path]?[index].successors.append { enter(path, life: life, then: then) }
                return false
            }
            occupants[path, default: []].append(Occupant(life: life))
            return true
        }
        if isFree { then() }
    }

    /// The work on the file at `path` is over, its lock released.
    static func leave(_ path: String, life: EngineLife) {
        let successors = occupants.withLock { occupants in
            guard let index = occupants[path]?.firstIndex(where: { $0.life === life }) else {
                return [@Sendable () -> Void]()
            }
            let occupant = occupants[path]?.remove(at: index)
            if occupants[path]?.isEmpty == true { occupants[path] = nil }
            return occupant?.successors ?? []
        }
        for successor in successors { successor() }
    }
}
