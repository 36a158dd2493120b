import Foundation
import Purl
internal import PurlHTTP

/// The SHA-256 of each piece of a file, as a list says them.
package struct PieceList: Sendable, Equatable {
    package let pieceLength: Int64
    /// The file's length; `nil` where the list does not say it.
    package let length: Int64?
    /// The digests one after another.
    private let digests: [UInt8]

    /// - Parameter digests: Of 32 bytes each.
    package init(pieceLength: Int64, length: Int64?, digests: [[UInt8]]) {
        self.pieceLength = pieceLength
        self.length = length
        self.digests = Array(digests.joined())
    }

    package var count: Int { digests.count / PieceLedger.digestLength }

    package func digest(of piece: Int) -> [UInt8] {
        Array(digests[piece * PieceLedger.digestLength..<(piece + 1) * PieceLedger.digestLength])
    }

    /// Whether a file of this length has so many pieces, and the length that the list says.
    package func fits(length: Int64) -> Bool {
        FilePieces.fits(length: length, count: count, pieceLength: pieceLength, known: self.length)
    }

    /// What names the list: bytes of several servers that it has joined count under it alone.
    package var sha256: [UInt8] {
        var digest = SHA256()
        digest.update(Array("\(pieceLength) \(length ?? -1)\n".utf8).span.bytes)
        digest.update(digests.span.bytes)
        return digest.finalize()
    }
}

/// What the pieces of an unfinished file are digested for.
package enum PieceChecking: Sendable, Equatable {
    /// To find what has been damaged since an earlier attempt has digested it. Nothing else is digested.
    case found
    /// For a later attempt, too, which builds on them, as long as pieces are digested as fast as they arrive.
    case recorded
    /// The same, and the digests of the complete file are wanted.
    case delivered
    /// They have to be those of a list.
    case listed(PieceList)
}

/// Which pieces of an unfinished file are to be digested.
///
/// They wait in two lines. What an earlier attempt has digested is compared with that, since it may have been damaged, and the
/// file is not complete before. The others are digested for what the caller wants: to compare them with a list, or to know their
/// digests, for which the file waits, too, or for a later attempt, for which it does not.
///
/// It is a value without a file or a thread.
struct PieceChecks: Sendable {
    private(set) var checking: PieceChecking
    private let pieces: FilePieces
    /// Of which the ledger has a digest.
    private var known = PieceLine()
    private var new = PieceLine()
    /// How many pieces of this attempt wait of which nothing is known.
    private var backlog = 0
    private var current: Current?
    /// Who has brought bytes of pieces that are not complete or not compared, where a list will tell whether they are right.
    private var origins: [Int: Set<RangePlan.Reader>] = [:]
    /// How many pieces have been dropped.
    private(set) var dropped = 0

    /// The piece that is being digested.
    private enum Current {
        case known(Int)
        case new(Int)

        var piece: Int {
            switch self {
            case .known(let piece), .new(let piece): piece
            }
        }
    }

    /// So many pieces may wait that are digested for a later attempt only.
    private static let longestBacklog = 32

    /// What counts as the origin of bytes that were there before.
    static let earlier: RangePlan.Reader = -1

    init(_ checking: PieceChecking, of pieces: FilePieces) {
        self.checking = checking
        self.pieces = pieces
    }

    /// Whether the file is not complete before pieces are digested of which nothing is known.
    private var waitsForNew: Bool {
        switch checking {
        case .found, .recorded: false
        case .delivered, .listed: true
        }
    }

    /// Whether pieces wait, or one is being digested, without which the file is not complete.
    var isPending: Bool {
        if !known.isEmpty || (waitsForNew && !new.isEmpty) { return true }
        switch current {
        case nil: return false
        case .known: return true
        case .new: return waitsForNew
        }
    }

    /// Whether ``next()`` returns a piece.
    var hasNext: Bool { current == nil && !(known.isEmpty && new.isEmpty) }

    /// Whether the ledger's digest is not that of the piece that is being digested, but of one in whose place it is.
    var isNew: Bool {
        if case .new = current { true } else { false }
    }

    /// These bytes were there before the attempt.
    ///
    /// - Parameter isKnown: Which of some pieces have a digest in the ledger, in order.
    mutating func find(_ present: [Range<Int64>], isKnown: (Range<Int>) throws -> [Range<Int>]) rethrows {
        for range in present {
            let whole = pieces.covered(by: range)
            var next = whole.lowerBound
            for some in try isKnown(whole) {
                known.add(some)
                addNew(next..<some.lowerBound)
                next = some.upperBound
            }
            addNew(next..<whole.upperBound)
            guard case .listed = checking else { continue }
            for piece in [pieces.touched(by: range).first, pieces.touched(by: range).last].compactMap(\.self)
            where !whole.contains(piece) {
                origins[piece, default: []].insert(Self.earlier)
            }
        }
    }

    private mutating func addNew(_ range: Range<Int>) {
        if checking != .found { new.add(range) }
    }

    /// Bytes have been placed.
    mutating func place(_ range: Range<Int64>, by reader: RangePlan.Reader, in plan: RangePlan) {
        for piece in pieces.touched(by: range) {
            if case .listed = checking { origins[piece, default: []].insert(reader) }
            guard plan.has(pieces.bytes(of: piece)) else { continue }
            addNew(piece..<piece + 1)
            backlog += 1
        }
        // A line that is faster than a processor brings what is damaged again sooner than it could be found.
        if checking == .recorded, backlog > Self.longestBacklog {
            checking = .found
            new = PieceLine()
        }
    }

    /// The piece to be digested next, until ``keep()``, ``drop()`` or ``putBack()``; `nil` when there is none, or one is being
    /// digested. The system still has in memory what has just been placed.
    mutating func next() -> Int? {
        guard current == nil else { return nil }
        backlog = max(0, backlog - 1)
        current = new.removeFirst().map { .new($0) } ?? known.removeFirst().map { .known($0) }
        return current?.piece
    }

    /// The piece that ``next()`` has returned waits again.
    mutating func putBack() {
        switch current {
        case .known(let piece): known.add(piece..<piece + 1)
        case .new(let piece): new.add(piece..<piece + 1)
        case nil: break
        }
        current = nil
    }

    /// The piece that ``next()`` has returned is right, or nothing else is known of it.
    mutating func keep() {
        if let current { origins[current.piece] = nil }
        current = nil
    }

    /// The piece that ``next()`` has returned is wrong, and is missing from now on.
    ///
    /// - Returns: Who has brought its bytes; empty where that is not known.
    mutating func drop() -> Set<RangePlan.Reader> {
        dropped += 1
        defer { current = nil }
        return current.flatMap { origins.removeValue(forKey: $0.piece) } ?? []
    }
}

/// Pieces in the order in which they were added.
private struct PieceLine: Sendable {
    private var ranges: [Range<Int>] = []
    private var first = 0

    var isEmpty: Bool { first == ranges.count }

    mutating func add(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        if !isEmpty, let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
        } else {
            ranges.append(range)
        }
    }

    mutating func removeFirst() -> Int? {
        guard first < ranges.count else { return nil }
        let piece = ranges[first].lowerBound
        ranges[first] = piece + 1..<ranges[first].upperBound
        if ranges[first].isEmpty { first += 1 }
        if first == ranges.count { (ranges, first) = ([], 0) }
        return piece
    }
}
