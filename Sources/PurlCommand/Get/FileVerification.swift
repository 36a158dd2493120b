import Foundation
import PurlDownloads
import PurlHTTP
internal import PurlIO

/// What one file has to be, whether it is that, and the list of digests that is kept beside it.
struct FileVerification: Sendable {
    private let request: DownloadRequest
    private let number: Int
    private let context: FileDownload.Context

    /// - Parameter number: The position in the command's list.
    init(_ request: DownloadRequest, number: Int, _ context: FileDownload.Context) {
        self.request = request
        self.number = number
        self.context = context
    }

    /// Whether the user has said what the file's checksum is.
    var expectsChecksum: Bool { request.checksum != nil || context.checksums != nil }

    /// The checksum that the file must have; `nil` if there is none. Throws when the list of `--check` does not have it.
    func checksum(of destination: Destination) throws(CommandFailure) -> Checksum? {
        if let checksum = request.checksum { return checksum }
        return try context.checksums?.checksum(of: destination.name)
    }

    /// Whether a complete file is what the user has said.
    func accepts(complete destination: Destination) async -> Bool {
        let checksum = try? checksum(of: destination)
        guard checksum != nil || !expectsChecksum else { return false }
        let (actual, pieces) = (try? await digests(of: destination.file, checksum != nil, context.pieces)) ?? (nil, nil)
        return actual == checksum && context.pieces.map { $0.isRight(pieces) } ?? true
    }

    private static func mismatch(_ destination: Destination, _ actual: Checksum, _ expected: Checksum) -> String {
        "“\(destination.name)” has the wrong SHA-256: \(actual.hexadecimal) instead of \(expected.hexadecimal)."
    }

    /// Whether the complete bytes have the expected checksum.
    enum Verdict {
        /// - Parameter digests: Those of the pieces, where they are kept.
        case right(PieceDigests?)
        case interrupted
        case wrong(sentence: String)
    }

    /// Compares the complete bytes with the expected checksum and the list of pieces, if there are any. What is not known of the
    /// pieces from their arrival is read.
    ///
    /// - Parameter agreed: The checksum under which bytes of several servers were joined, since they say that it is theirs.
    func verify(
        _ destination: Destination, _ stream: StreamSink?, _ report: FetchTask.Report, agreed: Checksum?
    ) async throws(CommandFailure) -> Verdict {
        // What its user says of the file counts, and not what its servers say.
        let expected =
            try checksum(of: destination) ?? (context.pieces == nil ? agreed ?? report.serverChecksum : nil)
        if let actual = stream?.checksum {
            guard let expected, actual != expected else { return .right(nil) }
            return .wrong(
                sentence: "\(Self.mismatch(destination, actual, expected)) The bytes were written to it all the same.")
        }
        guard let parts = destination.parts else { return .right(nil) }
        let known = knownPieces(report.pieces, length: parts.length)
        let readsPieces = known == nil && (context.pieces != nil || context.options.keepsDigests)
        guard expected != nil || readsPieces else { return .right(known) }
        let (actual, found): (Checksum?, PieceDigests?)
        do {
            show(expected != nil ? "checking the SHA-256" : "digesting the pieces", destination)
            defer { context.display.hide(number: number) }
            (actual, found) = try await digests(
                of: parts.bytes, expected != nil, readsPieces ? context.pieces ?? .empty : nil)
        } catch is CancellationError {
            return .interrupted
        } catch {
            throw CommandFailure(
                "“\(destination.name).part” cannot be read: \((error as NSError).localizedDescription)")
        }
        if readsPieces, let list = context.pieces, !list.isRight(found) {
            return .wrong(
                sentence: "“\(destination.name)” has other pieces than the list. The received bytes were removed.")
        }
        if let expected, let actual, actual != expected {
            return .wrong(sentence: "\(Self.mismatch(destination, actual, expected)) The received bytes were removed.")
        }
        return .right(known ?? found)
    }

    /// The digests of the complete file's pieces as they arrived; `nil` where that is not known, or not the usual pieces.
    private func knownPieces(_ checked: CheckedPieces, length: Int64) -> PieceDigests? {
        switch checked {
        case .none: nil
        case .listed: context.pieces?.ofFile(length: length)
        case .digested(let pieces, let digests):
            pieces.pieceLength == PieceDigests.usualPieceLength && pieces.total == length
                ? PieceDigests(pieces, digests: digests) : nil
        }
    }

    private func show(_ remark: String, _ destination: Destination) {
        if context.options.verbosity != .quiet {
            context.display.show({ remark }, name: destination.name, number: number)
        }
    }

    /// Reads a file once for its checksum and the digests of its pieces, whichever are wanted.
    ///
    /// - Parameter list: One of pieces of the length that is wanted; `nil` for none.
    private func digests(
        of file: URL, _ withWhole: Bool, _ list: PieceDigests?
    ) async throws -> (Checksum?, PieceDigests?) {
        guard let list else { return (withWhole ? try await Checksum.ofFile(at: file) : nil, nil) }
        var whole = withWhole ? SHA256() : nil
        let pieces = try await PieceDigests.ofFile(at: file, pieceLength: list.pieceLength, whole: &whole)
        return (whole.map { Checksum($0) }, pieces)
    }

    /// Throws where the digests of the pieces cannot be kept.
    func checkDigestsCanBeKept(of destination: Destination) throws(CommandFailure) {
        guard context.options.keepsDigests else { return }
        guard destination.parts != nil else { throw CommandFailure("“--keep-digests” needs a file.") }
        let list = PieceDigests.list(of: destination.file)
        guard FileEntry(at: list) == .missing || PieceDigests.isList(list) else {
            throw CommandFailure(
                "“\(destination.name)\(PieceDigests.suffix)” is not a list that purl has written. It was left as it is."
            )
        }
    }

    func save(_ digests: PieceDigests, of destination: Destination) throws(CommandFailure) {
        guard context.options.keepsDigests, let parts = destination.parts else { return }
        try checkDigestsCanBeKept(of: destination)
        let text = Array(digests.text(name: destination.file.lastPathComponent).utf8)
        let list = PieceDigests.list(of: destination.file)
        do throws(SystemError) {
            let file = try parts.layer.createSuccessor(of: list.path, text.span.bytes)
            try file.openToOthers()
            try parts.layer.installSuccessor(of: list.path)
        } catch {
            let name = destination.name + PieceDigests.suffix
            throw CommandFailure("“\(name)” cannot be written: \(error.reason)")
        }
    }

    /// Digests a file that is complete already.
    func keepDigests(ofComplete destination: Destination) async throws(CommandFailure) {
        guard context.options.keepsDigests else { return }
        do {
            show("digesting the pieces", destination)
            defer { context.display.hide(number: number) }
            let (_, pieces) = try await digests(of: destination.file, false, context.pieces ?? .empty)
            if let pieces { try save(pieces, of: destination) }
        } catch let error as CommandFailure {
            throw error
        } catch {
            throw CommandFailure("“\(destination.name)” cannot be read: \((error as NSError).localizedDescription)")
        }
    }
}
