import Foundation
import PurlHTTP
internal import PurlIO

/// A file, compared with the digests of its pieces.
struct CheckedFile: Sendable {
    let file: URL
    /// The file's name in messages.
    let name: String
    let expected: PieceDigests
    /// The file's length.
    let length: Int64
    /// The pieces that are damaged or missing, consecutive ones together.
    private(set) var damaged: [Range<Int>]

    /// Reads the file, and its list.
    ///
    /// - Parameters:
    ///   - list: The list's path; `nil` is the one beside the file.
    ///   - pieceLength: That of a list which does not say it.
    init(_ path: String, list: String?, pieceLength: Int64?) async throws(CommandFailure) {
        (file, name) = (URL(fileURLWithPath: path), path)
        _ = try Self.length(of: file, named: path)
        let usual = path + PieceDigests.suffix
        guard list != nil || FileEntry(atPath: usual, followingLinks: true) != .missing else {
            throw CommandFailure(
                "There is no “\(usual)” to compare with: “get --keep-digests” writes it, “--digests” names another list."
            )
        }
        expected = try PieceDigests(ListFile(list ?? usual), pieceLength: pieceLength)
        do {
            var whole: SHA256?
            let found = try await PieceDigests.ofFile(
                at: file, pieceLength: expected.pieceLength, upTo: expected.length ?? .max, whole: &whole)
            length = try Self.length(of: file, named: path)
            damaged = expected.damage(in: found)
        } catch let error as CommandFailure {
            throw error
        } catch is CancellationError {
            throw .interrupted
        } catch {
            throw CommandFailure("“\(path)” cannot be read: \(error.reason)")
        }
    }

    private static func length(of file: URL, named name: String) throws(CommandFailure) -> Int64 {
        switch FileEntry(at: file, followingLinks: true) {
        case .regular(let entry): return entry.length
        case .missing: throw CommandFailure("There is no file “\(name)”.")
        case .folder: throw CommandFailure("“\(name)” is a folder.")
        case .device, .pipe, .socket, .link: throw CommandFailure("“\(name)” is not a regular file.")
        }
    }

    /// How many bytes follow the last piece.
    var surplus: Int64 {
        max(0, length - (expected.length ?? Int64(expected.digests.count) * expected.pieceLength))
    }

    var isRight: Bool { damaged.isEmpty && surplus == 0 }

    /// How many bytes have to be fetched, where the file's length is known.
    var damagedBytes: Int64 { ranges.reduce(0) { $0 + Int64($1.count) } }

    /// Where the file is damaged.
    var ranges: [ClosedRange<Int64>] {
        damaged.compactMap { pieces in
            let bytes = expected.bytes(
                of: pieces, length: expected.length ?? Int64(expected.digests.count) * expected.pieceLength)
            return bytes.isEmpty ? nil : bytes.lowerBound...bytes.upperBound - 1
        }
    }

    /// The first pieces of the first range have been replaced by the right ones, up to this one.
    mutating func repaired(upTo piece: Int) {
        guard let first = damaged.first else { return }
        if piece >= first.upperBound { damaged.removeFirst() } else { damaged[0] = piece..<first.upperBound }
    }

    /// What is wrong, as a clause: “2 of 101 pieces are damaged (bytes 0-1048575, 5242880-6291455)”.
    var findings: String {
        var findings: [String] = []
        let count = damaged.reduce(0) { $0 + $1.count }
        if count > 0 {
            let shown = ranges.prefix(Self.mostShown).map { "\($0.lowerBound)-\($0.upperBound)" }
            let more = ranges.count > shown.count ? ", and \(ranges.count - shown.count) ranges more" : ""
            findings.append(
                "\(count) of \(pieceCount) \(count == 1 ? "is" : "are") damaged"
                    + " (bytes \(shown.joined(separator: ", "))\(more))")
        }
        if surplus > 0 { findings.append("\(ByteText.count(surplus)) too many") }
        return findings.joined(separator: ", ")
    }

    /// “1 piece”, “101 pieces”.
    var pieceCount: String { "\(expected.digests.count) \(expected.digests.count == 1 ? "piece" : "pieces")" }

    /// How many ranges a message lists.
    private static let mostShown = 8
}

extension CommandFailure {
    /// The command was interrupted while it read a file.
    static let interrupted = CommandFailure("Interrupted.")
}
