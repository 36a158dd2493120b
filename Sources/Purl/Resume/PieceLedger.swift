import Foundation

/// A file of a known length, cut into pieces of one length; the last one may be shorter.
package struct FilePieces: Sendable, Equatable {
    /// The length of a piece where nothing else is asked for.
    package static let usualLength: Int64 = 1 << 20

    /// The length of the file.
    package let total: Int64
    package let pieceLength: Int64

    /// - Parameters:
    ///   - total: The length of the file, at least 0.
    ///   - pieceLength: That of a piece, at least 1.
    package init(total: Int64, pieceLength: Int64 = usualLength) {
        self.total = max(0, total)
        self.pieceLength = max(1, pieceLength)
    }

    package var count: Int { Int(total / pieceLength + (total % pieceLength > 0 ? 1 : 0)) }

    /// Whether a file of this length is the one that a list of pieces is about.
    ///
    /// - Parameters:
    ///   - count: How many pieces the list has.
    ///   - known: The file's length as the list says it; `nil` where it does not.
    package static func fits(length: Int64, count: Int, pieceLength: Int64, known: Int64?) -> Bool {
        known.map { $0 == length } ?? (FilePieces(total: length, pieceLength: pieceLength).count == count)
    }

    /// The bytes of a piece.
    package func bytes(of piece: Int) -> Range<Int64> {
        let start = Int64(piece) * pieceLength
        return start..<start + min(pieceLength, total - start)
    }

    /// The pieces that have at least one of these bytes.
    package func touched(by range: Range<Int64>) -> Range<Int> {
        guard !range.isEmpty else { return 0..<0 }
        return Int(range.lowerBound / pieceLength)..<Int((range.upperBound - 1) / pieceLength) + 1
    }

    /// The pieces that have no byte outside of these.
    package func covered(by range: Range<Int64>) -> Range<Int> {
        let first = Int(range.lowerBound / pieceLength + (range.lowerBound % pieceLength > 0 ? 1 : 0))
        let end = range.upperBound >= total ? count : Int(range.upperBound / pieceLength)
        return first..<max(first, end)
    }
}

/// Where the digests of an unfinished file's pieces lie: in the file itself, behind the pages of its ``RangeJournal``.
///
/// | bytes | what they are |
/// | --- | --- |
/// | 64 | the head: a mark, the length of a piece and of the resource, and a digest of these |
/// | 32 for each piece | the piece's SHA-256; zeros, or nothing, where it is not known |
///
/// A digest is written after the bytes it is of, when it has been made of what the file holds. It never says that a piece is
/// there, which the pages alone do; it says what a piece has to be that is. So a kill between the two leaves a piece that nothing
/// is known of, and of a power loss that has kept the digest and not the bytes the damage is found. What is left of a piece that
/// was dropped since is compared with what takes its place, which costs a second request at the worst.
package struct PieceLedger: Sendable, Equatable {
    /// Shorter pieces would take too much room for what they save.
    private static let shortestPiece: Int64 = 1 << 16
    private static let longestPiece: Int64 = 64 << 20
    /// Two tebibytes in pieces of the usual length.
    private static let mostPieces = 1 << 21

    package static let digestLength = 32
    private static let mark = Array("purl pieces v1\n\n".utf8)
    private static let headLength: Int64 = 64

    package let pieces: FilePieces

    /// `nil` where there are too many pieces, or they are too short or too long.
    package init?(_ pieces: FilePieces) {
        guard Self.shortestPiece...Self.longestPiece ~= pieces.pieceLength, pieces.count <= Self.mostPieces else {
            return nil
        }
        self.pieces = pieces
    }

    /// Whether one of several digests is known.
    package static func isKnown(_ index: Int, in digests: [UInt8]) -> Bool {
        digests[index * digestLength..<(index + 1) * digestLength].contains { $0 != 0 }
    }

    /// The offset of the head in the file of a resource.
    static func place(behind total: Int64) -> Int64 { RangeJournal.fileLength(total) }

    /// The greatest length of a file with a ledger.
    static func greatestLength(_ total: Int64) -> Int64 {
        place(behind: total) + headLength + Int64(mostPieces * digestLength)
    }

    /// The bytes of the head in the file.
    static func headRange(behind total: Int64) -> Range<Int64> {
        place(behind: total)..<place(behind: total) + headLength
    }

    /// The bytes of a piece's digest in the file.
    func range(of piece: Int) -> Range<Int64> {
        let start = Self.headRange(behind: pieces.total).upperBound + Int64(piece * Self.digestLength)
        return start..<start + Int64(Self.digestLength)
    }

    var head: [UInt8] {
        var bytes = Self.mark
        bytes.append(number: pieces.pieceLength)
        bytes.append(number: pieces.total)
        return bytes + RangeJournal.digest(bytes)
    }

    /// Reads a head, which is untrusted; `nil` when it is damaged, or of a resource of another length.
    init?(head: Data, total: Int64) {
        let bytes = [UInt8](head)
        guard bytes.count == Self.headLength, bytes.starts(with: Self.mark) else { return nil }
        self.init(FilePieces(total: total, pieceLength: bytes.number(at: Self.mark.count)))
        guard bytes == self.head else { return nil }
    }
}
