import Foundation
internal import PurlIO
import Synchronization

/// The file beside a sink's file in which its record lies.
///
/// It is readable by its owner only, since a request's header fields may hold credentials. A process that is killed needs no
/// synchronised record, and a power loss must find one that is whole: so a new record is written to a second file, ".new",
/// and takes the first one's place once it has reached the disk. After a power loss the first counts if the second cannot be
/// read; both describe bytes that were safe before.
///
/// A file counts as a record only if it is a regular file of the same user's: in a folder that several users can write to,
/// others do not decide how a transfer is resumed.
final class RecordFile: Sendable {
    private struct State {
        var unsafeChange = Change.none
        /// Counts the changes, so that one that follows a synchronisation is not taken for the one that preceded it.
        var changes = 0
    }

    /// The change of the record that a power loss may undo.
    private enum Change {
        case none
        /// The record is in the second file.
        case newer
        /// The record is the first one there is. It is in its place, and has not been synchronised.
        case first
    }

    let url: URL
    private let files: any FileLayer
    private let state = Mutex(State())

    init(url: URL, through files: any FileLayer = SystemFiles()) {
        self.url = url
        self.files = files
    }

    private var newer: String { files.successor(of: url.path) }

    func load() throws -> Data? {
        // After a crash it may be incomplete; the other one still counts.
        if let record = try? read(newer), (try? ResumeData(decoding: record)) != nil { return record }
        return try read(url.path)
    }

    /// `nil` when there is no file.
    private func read(_ path: String) throws -> Data? {
        try files.readRecord(path, upTo: ResumeData.maximumSize + 1).map { Data($0) }
    }

    /// Keeps a record, without waiting for the disk; `nil` removes it, and waits.
    func save(_ record: Data?) throws {
        try state.withLock { state in
            state.changes += 1
            do {
                state.unsafeChange = try record.map(write) ?? remove()
            } catch {
                // What is left of the second file must not take the first one's place.
                files.remove(newer)
                if state.unsafeChange == .newer { state.unsafeChange = .none }
                throw FileFailure(.write, url, error)
            }
        }
    }

    private func write(_ record: Data) throws -> Change {
        _ = try files.createSuccessor(of: url.path, record.bytes)
        if case .regular = files.entry(url.path) { return .newer }
        // It replaces nothing that a power loss could bring back.
        try files.installSuccessor(of: url.path)
        return .first
    }

    private func remove() throws -> Change {
        // The newer one first, so that it never outlives the other.
        for path in [newer, url.path] where try files.removeExisting(path) {
            // The bytes that it describes are about to change; not even a power loss may bring it back.
            try files.synchronizeFolder(url.deletingLastPathComponent().path)
        }
        return .none
    }

    /// Makes the latest record safe, and puts it in its place, unless another change comes first.
    func synchronize() throws {
        let (change, changes) = state.withLock { ($0.unsafeChange, $0.changes) }
        do {
            switch change {
            case .none: return
            case .first: try files.open(url.path, .existing).synchronize()
            case .newer: try files.open(newer, .existing).synchronize()
            }
            try state.withLock { state in
                // Another thread may have made the same change safe, and put it in its place.
                guard state.changes == changes, state.unsafeChange == change else { return }
                if case .newer = change { try files.installSuccessor(of: url.path) }
                state.unsafeChange = .none
            }
        } catch {
            // A record that was changed, given up or put in its place meanwhile need not be there.
            guard state.withLock({ $0.changes == changes && $0.unsafeChange == change }) else { return }
            throw FileFailure(.write, url, error)
        }
    }

    /// The record belongs to another task from now on: a synchronisation that is still waiting leaves it alone.
    func close() {
        state.withLock { $0.changes += 1 }
    }
}
