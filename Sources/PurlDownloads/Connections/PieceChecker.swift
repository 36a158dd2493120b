import Foundation
import Purl
internal import PurlHTTP
internal import PurlIO
import Synchronization

/// What came of a piece that was digested.
package enum PieceResult: Sendable {
    case right
    /// The bytes are not what they have to be, and are missing from now on.
    ///
    /// - Parameter readers: Who has brought them; empty where that is not known, or makes no difference.
    case dropped(Range<Int64>, of: Set<RangePlan.Reader>)
    /// The file cannot be written.
    case failed(any Error)
}

/// What is known of the pieces of a complete file.
package enum CheckedPieces: Sendable, Equatable {
    case none
    /// They are those of the list.
    case listed
    /// Their digests, one after another.
    case digested(FilePieces, [UInt8])
}

/// Digests the pieces of one version of an unfinished file while its bytes arrive, each as soon as it is complete, away from the
/// threads that write: from the memory in which the system still has it.
///
/// The digest is written into the ledger when the piece is in the file, and compared with what is known of it: the ledger's
/// digest of an earlier attempt, or that of a list.
final class PieceChecker: Sendable {
    /// A piece that is digested.
    struct Job: Sendable {
        fileprivate let piece: Int
        fileprivate let bytes: Range<Int64>
        /// In which of the checker's runs it has begun.
        fileprivate let run: Int
        /// `nil` where it cannot be read.
        fileprivate var digest: [UInt8]?
    }

    private struct State {
        var checks: PieceChecks
        var onCheck: (@Sendable (PieceResult) -> Void)?
        /// Counts the stops: what has begun before one has no result.
        var run = 0
    }

    /// How many bytes are read at a time.
    private static let partLength: Int64 = 1 << 20

    private let pieces: FilePieces
    private let list: PieceList?
    /// Where digests are kept; `nil` where that is not possible.
    private let ledger: PieceLedger?
    private let state: Mutex<State>

    /// Makes the list of what is to be digested of the bytes there are; `nil` when nothing is.
    init?(_ checking: PieceChecking, of plan: RangePlan, in file: FileHandleSink) {
        let found = (try? file.ledger(behind: plan.total)) ?? nil
        switch checking {
        case .found:
            guard let found else { return nil }
            (pieces, list) = (found.pieces, nil)
        case .recorded, .delivered:
            (pieces, list) = (found?.pieces ?? FilePieces(total: plan.total), nil)
        case .listed(let list):
            guard list.fits(length: plan.total) else { return nil }
            (pieces, self.list) = (FilePieces(total: plan.total, pieceLength: list.pieceLength), list)
        }
        // Without one, pieces are digested all the same where that is of use now.
        let ledger = PieceLedger(pieces).flatMap { ledger in (try? file.begin(ledger)).map { ledger } }
        var checks = PieceChecks(checking, of: pieces)
        checks.find(plan.present) { pieces in ledger.map { Self.known(pieces, in: $0, of: file) } ?? [] }
        self.ledger = ledger
        state = Mutex(State(checks: checks))
    }

    /// Those of some pieces whose digests the ledger has.
    private static func known(_ pieces: Range<Int>, in ledger: PieceLedger, of file: FileHandleSink) -> [Range<Int>] {
        var known: [Range<Int>] = []
        for start in stride(from: pieces.lowerBound, to: pieces.upperBound, by: 1024) {
            let some = start..<min(pieces.upperBound, start + 1024)
            guard let digests = try? file.digests(of: some, in: ledger) else { break }
            for piece in some where PieceLedger.isKnown(piece - start, in: digests) { known.append(piece..<piece + 1) }
        }
        return known
    }

    /// Whether pieces wait without which the file is not complete.
    var isPending: Bool { state.withLock { $0.checks.isPending } }

    var droppedPieces: Int { state.withLock { $0.checks.dropped } }

    /// Bytes have been placed.
    func place(_ range: Range<Int64>, by reader: RangePlan.Reader, in plan: RangePlan) {
        state.withLock { $0.checks.place(range, by: reader, in: plan) }
    }

    /// Starts, unless that has been done.
    ///
    /// - Parameter onCheck: Called for each piece, from any thread.
    func start(_ onCheck: @escaping @Sendable (PieceResult) -> Void) {
        state.withLock { $0.onCheck = $0.onCheck ?? onCheck }
    }

    /// Nothing is written any more, and no result reported.
    func stop() {
        state.withLock { state in
            state.run += 1
            state.onCheck = nil
        }
    }

    /// Digests the pieces that wait, one after another, if that has been started.
    func check(in file: RangedFile) {
        let waiting = state.withLock { $0.checks.hasNext ? $0.onCheck : nil }
        guard let waiting else { return }
        let read: (@Sendable (Range<Int64>) throws -> Data)?
        do {
            read = try file.makeReader(for: self)
        } catch {
            return waiting(.failed(error))
        }
        guard let read, let job = nextJob() else { return }
        Worker.shared.run(on: .downloads) {
            var job = job
            job.digest = (try? Self.digest(of: job.bytes, read)) ?? nil
            let onCheck = self.state.withLock { $0.onCheck }
            if let result = file.settle(job, of: self) { onCheck?(result) }
            self.check(in: file)
        }
    }

    private func nextJob() -> Job? {
        state.withLock { state in
            guard state.onCheck != nil else { return nil }
            return state.checks.next().map { Job(piece: $0, bytes: pieces.bytes(of: $0), run: state.run) }
        }
    }

    /// `nil` where bytes are missing.
    private static func digest(of bytes: Range<Int64>, _ read: (Range<Int64>) throws -> Data) rethrows -> [UInt8]? {
        var digest = SHA256()
        var offset = bytes.lowerBound
        while offset < bytes.upperBound {
            let part = offset..<min(bytes.upperBound, offset + partLength)
            let data = try read(part)
            guard data.count == part.count else { return nil }
            digest.update(data.bytes)
            offset = part.upperBound
        }
        return digest.finalize()
    }

    // MARK: For the file, which does not change meanwhile

    /// Keeps the digest of a piece, or finds that the piece has to be dropped. `nil` when the run is over.
    func settle(_ job: Job, in file: FileHandleSink) -> PieceResult? {
        state.withLock { state in
            guard state.run == job.run else {
                state.checks.putBack()
                return nil
            }
            let entry = ledger.flatMap { try? file.digests(of: job.piece..<job.piece + 1, in: $0) }
            let kept = entry.flatMap { PieceLedger.isKnown(0, in: $0) ? $0 : nil }
            let expected = list?.digest(of: job.piece) ?? (state.checks.isNew ? nil : kept)
            guard let digest = job.digest, digest == expected ?? digest else {
                return .dropped(job.bytes, of: state.checks.drop())
            }
            if let ledger, digest != kept { try? file.save(digest, of: job.piece, in: ledger) }
            state.checks.keep()
            return .right
        }
    }

    /// What is known of the pieces when every byte is there.
    func checkedPieces(in file: FileHandleSink) -> CheckedPieces {
        switch state.withLock({ $0.checks.checking }) {
        case .found, .recorded: return .none
        case .listed: return .listed
        case .delivered:
            guard let ledger, let digests = try? file.digests(of: 0..<pieces.count, in: ledger) else { return .none }
            let isKnown = (0..<pieces.count).allSatisfy { PieceLedger.isKnown($0, in: digests) }
            return isKnown ? .digested(pieces, digests) : .none
        }
    }
}
