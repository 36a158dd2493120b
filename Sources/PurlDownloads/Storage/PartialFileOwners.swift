import Foundation
internal import PurlIO
import Synchronization

/// The partial files that attempts in this process are using, or that are about to be deleted.
///
/// The lock on a partial file keeps every other writer away, in this process and others. Two kinds of attempts wait here
/// instead of meeting that lock: the first attempt of a manager that takes over the folders of one that has just been
/// invalidated waits until the old attempt has released the file; and an attempt at a URL whose earlier download is being
/// deleted waits until that is done, so that the deletion cannot remove the new download's bytes.
enum PartialFileOwners {
    private struct Owner: Sendable {
        let validity: SchedulerValidity
        /// Called when the file has been released.
        var successors: [@Sendable () -> Void] = []
    }

    private struct Deletion: Sendable {
        let download: ObjectIdentifier
        /// Called when the file has been deleted.
        var successors: [@Sendable () -> Void] = []
    }

    private struct Users: Sendable {
        var owners: [Owner] = []
        var deletions: [Deletion] = []

        var isEmpty: Bool { owners.isEmpty && deletions.isEmpty }

        /// Adds a successor to what an attempt has to wait for. False when there is nothing.
        mutating func enqueue(
            _ successor: @escaping @Sendable () -> Void, _ validity: SchedulerValidity, _ download: ObjectIdentifier
        ) -> Bool {
            // The deletion of its own file waits for the attempt, which is being stopped.
            if !deletions.contains(where: { $0.download == download }), !deletions.isEmpty {
                deletions[0].successors.append(successor)
            } else if let index = owners.firstIndex(where: { $0.validity !== validity && !$0.validity.isValid }) {
                owners[index].successors.append(successor)
            } else {
                return false
            }
            return true
        }
    }

    private final class Files: Sendable {
        let users = Mutex<[String: Users]>([:])
    }

    private static let ofProcess = ProcessLocal { Files() }

    /// Calls `body` when no invalidated manager uses the file at `path`, and no other download is to delete it; usually at
    /// once. Each call has to be balanced by ``release(_:for:)``. A valid manager that uses the same file does not delay the
    /// call: the file's lock fails then.
    static func acquire(
        _ path: String, for validity: SchedulerValidity, of download: ObjectIdentifier,
        then body: @escaping @Sendable () -> Void
    ) {
        let isFree = ofProcess.current.users.withLock { files in
            let retry: @Sendable () -> Void = { acquire(path, for: validity, of: download, then: body) }
            guard files[path]?.enqueue(retry, validity, download) != true else { return false }
            files[path, default: Users()].owners.append(Owner(validity: validity))
            return true
        }
        if isFree { body() }
    }

    /// The attempt has unlocked the file at `path`.
    static func release(_ path: String, for validity: SchedulerValidity) {
        remove(path) { users in
            guard let index = users.owners.firstIndex(where: { $0.validity === validity }) else { return [] }
            return users.owners.remove(at: index).successors
        }
    }

    /// The download is going to delete the file at `path`: from now on attempts of other downloads wait for
    /// ``endDeletion(of:by:)``.
    static func beginDeletion(of path: String, by download: ObjectIdentifier) {
        ofProcess.current.users.withLock { $0[path, default: Users()].deletions.append(Deletion(download: download)) }
    }

    /// The file at `path` has been deleted.
    static func endDeletion(of path: String, by download: ObjectIdentifier) {
        remove(path) { users in
            guard let index = users.deletions.firstIndex(where: { $0.download == download }) else { return [] }
            return users.deletions.remove(at: index).successors
        }
    }

    /// Whether the file at `path` is about to be deleted.
    static func isDeletionPending(of path: String) -> Bool {
        ofProcess.current.users.withLock { $0[path]?.deletions.isEmpty == false }
    }

    /// Removes a user of the file, and calls the successors.
    private static func remove(_ path: String, _ change: (inout Users) -> [@Sendable () -> Void]) {
        let successors = ofProcess.current.users.withLock { files in
            guard var users = files[path] else { return [@Sendable () -> Void]() }
            let successors = change(&users)
            files[path] = users.isEmpty ? nil : users
            return successors
        }
        for successor in successors { successor() }
    }
}
