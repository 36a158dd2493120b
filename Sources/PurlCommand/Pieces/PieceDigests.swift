import Foundation
import Purl
import PurlDownloads
import PurlHTTP
internal import PurlIO

/// The SHA-256 of each piece of a file: it tells where a file is damaged, so that one wrong byte costs one piece.
///
/// As text it is the list that `sha256sum` writes of the files into which `split` cuts this one, and such a list is read, too. A
/// comment in the first line says the lengths, which `sha256sum` skips.
struct PieceDigests: Equatable, Sendable {
    /// What follows a file's name in that of its list.
    static let suffix = ".digests"
    static let usualPieceLength = FilePieces.usualLength
    /// The longest piece: what is repaired is in memory until its digest is known.
    static let longestPiece: Int64 = 64 << 20

    let pieceLength: Int64
    /// The file's length; `nil` where the list does not say it.
    let length: Int64?
    let digests: [Checksum]

    /// The bytes of some pieces of a file of `length` bytes.
    func bytes(of pieces: Range<Int>, length: Int64) -> Range<Int64> {
        let lower = min(Int64(pieces.lowerBound) * pieceLength, length)
        return lower..<max(lower, min(Int64(pieces.upperBound) * pieceLength, length))
    }

    /// Whether a file of `length` bytes has so many pieces, and the length that the list says.
    func fits(length: Int64) -> Bool {
        FilePieces.fits(length: length, count: digests.count, pieceLength: pieceLength, known: self.length)
    }

    /// The pieces in which a file with other digests differs from this list, consecutive ones together.
    func damage(in file: PieceDigests) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for (index, digest) in digests.enumerated()
        where index >= file.digests.count || file.digests[index] != digest {
            if let last = ranges.last, last.upperBound == index {
                ranges[ranges.count - 1] = last.lowerBound..<index + 1
            } else {
                ranges.append(index..<index + 1)
            }
        }
        return ranges
    }
}

extension PieceDigests {
    /// Digests a file.
    ///
    /// - Parameters:
    ///   - limit: Bytes behind so many are left out.
    ///   - whole: Takes all bytes, too.
    static func ofFile(
        at url: URL, pieceLength: Int64, upTo limit: Int64 = .max, whole: inout SHA256?
    ) async throws -> PieceDigests {
        var digests: [Checksum] = []
        var (piece, filled, length) = (SHA256(), Int64(0), Int64(0))
        try await Checksum.readFile(at: url) { bytes in
            whole?.update(bytes.bytes)
            var rest = bytes.prefix(Int(clamping: limit - length))
            length += Int64(rest.count)
            while !rest.isEmpty {
                let part = rest.prefix(Int(clamping: pieceLength - filled))
                piece.update(part.bytes)
                filled += Int64(part.count)
                rest = rest.dropFirst(part.count)
                guard filled == pieceLength else { break }
                digests.append(Checksum(piece))
                (piece, filled) = (SHA256(), 0)
            }
        }
        if filled > 0 { digests.append(Checksum(piece)) }
        return PieceDigests(pieceLength: pieceLength, length: length, digests: digests)
    }
}

// MARK: A download

extension PieceDigests {
    /// The digests that a download has made of a file's pieces while they arrived.
    ///
    /// - Parameter digests: Of 32 bytes each.
    init(_ pieces: FilePieces, digests: [UInt8]) {
        let starts = stride(from: 0, to: digests.count, by: PieceLedger.digestLength)
        self.init(
            pieceLength: pieces.pieceLength, length: pieces.total,
            digests: starts.map { Checksum(bytes: Array(digests[$0..<$0 + PieceLedger.digestLength])) })
    }

    /// The list as a download compares pieces with it.
    var pieceList: PieceList {
        PieceList(pieceLength: pieceLength, length: length, digests: digests.map(\.bytes))
    }

    /// The list of an empty file.
    static let empty = PieceDigests(pieceLength: usualPieceLength, length: 0, digests: [])

    /// Whether a file with these digests is the one that the list is about.
    func isRight(_ file: PieceDigests?) -> Bool {
        guard let file, let length = file.length, fits(length: length) else { return false }
        return file.digests == digests
    }

    /// The same digests, of a file whose length is known.
    func ofFile(length: Int64) -> PieceDigests {
        PieceDigests(pieceLength: pieceLength, length: length, digests: digests)
    }
}

// MARK: The list

extension PieceDigests {
    private static let (mark, middle, end) = ("# pieces of ", " bytes, ", " bytes in all")

    /// The list as text.
    ///
    /// - Parameter name: The file's name.
    func text(name: String) -> String {
        let isPlain = !name.contains("\\")
        let name = name.replacing("\\", with: "\\\\")
        var text = "\(Self.mark)\(pieceLength)\(Self.middle)\(length ?? 0)\(Self.end)\n"
        for (index, digest) in digests.enumerated() {
            let number = String(index)
            let zeros = String(repeating: "0", count: max(0, 6 - number.count))
            text += "\(isPlain ? "" : "\\")\(digest.hexadecimal)  \(name).\(zeros)\(number)\n"
        }
        return text
    }

    /// Where the list of a file is.
    static func list(of file: URL) -> URL { file.appendingPathExtension(String(suffix.dropFirst())) }

    /// Whether a file is regular, and begins as a list that ``text(name:)`` has made.
    static func isList(_ file: URL) -> Bool {
        guard case .regular = FileEntry(at: file), let handle = try? FileHandle(forReadingFrom: file) else {
            return false
        }
        defer { try? handle.close() }
        return (try? handle.read(upToCount: mark.utf8.count)) == Data(mark.utf8)
    }

    /// Reads a list.
    ///
    /// - Parameter pieceLength: What a list without the comment is about; `nil` is the usual length.
    init(_ file: ListFile, pieceLength: Int64?) throws(CommandFailure) {
        var digests: [Checksum] = []
        var lengths: (piece: Int64, file: Int64)?
        let lines = file.bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            switch ChecksumLine(line) {
            case .nothing:
                if index == 0 { lengths = Self.lengths(String(decoding: line, as: UTF8.self)) }
            case .checksum(let digest, _): digests.append(digest)
            case nil:
                throw CommandFailure("Line \(index + 1) of \(file.name) is not a SHA-256 and a name.")
            }
        }
        guard let lengths else {
            guard !digests.isEmpty else { throw CommandFailure("There is no SHA-256 in \(file.name).") }
            self.init(pieceLength: pieceLength ?? Self.usualPieceLength, length: nil, digests: digests)
            return
        }
        guard pieceLength == nil || pieceLength == lengths.piece else {
            throw CommandFailure("The pieces of \(file.name) have \(lengths.piece) bytes.")
        }
        let count = FilePieces(total: lengths.file, pieceLength: lengths.piece).count
        guard count == digests.count else {
            throw CommandFailure("\(file.name) has \(digests.count) lines for \(count) pieces.")
        }
        self.init(pieceLength: lengths.piece, length: lengths.file, digests: digests)
    }

    /// What the comment says; `nil` for any other line.
    private static func lengths(_ line: String) -> (piece: Int64, file: Int64)? {
        guard line.hasPrefix(mark), line.hasSuffix(end) else { return nil }
        let numbers = line.dropFirst(mark.count).dropLast(end.count).split(separator: middle).compactMap { Int64($0) }
        guard numbers.count == 2, 1...longestPiece ~= numbers[0], numbers[1] >= 0 else { return nil }
        return (numbers[0], numbers[1])
    }
}
