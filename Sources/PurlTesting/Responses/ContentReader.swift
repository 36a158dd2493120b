import Foundation
internal import PurlIO

/// Where the bytes of a response's content come from.
enum Content: Sendable {
    case data(Data)
    case file(URL)
    case generated(GeneratedContent)

    /// No bytes.
    static let empty = Content.data(Data())
}

/// Reads the bytes of a ``Content``, without ever holding more than one piece of a file.
final class ContentReader {
    /// How many bytes the content has.
    let length: Int64

    private enum Storage {
        case data(Data)
        case generated(GeneratedContent)
        case file(RegularFile)
        case arranged(ContentReader, MultipartRanges)
    }

    private let storage: Storage
    private var piece: [UInt8] = []
    private var pieceStart: Int64 = 0

    /// Opens the content.
    ///
    /// - Throws: The error of opening a file, which has to be a regular one: a pipe without a writer would stop the server.
    convenience init(_ content: Content) throws(SystemError) {
        switch content {
        case .data(let data):
            self.init(data)
        case .generated(let generated):
            self.init(.generated(generated), length: Int64(generated.size))
        case .file(let url):
            let file = try RegularFile(reading: url.path)
            self.init(.file(file), length: try file.status().length)
        }
    }

    /// Reads bytes in memory.
    convenience init(_ data: Data) {
        self.init(.data(data), length: Int64(data.count))
    }

    /// Reads parts of other content with framing around them.
    convenience init(_ content: ContentReader, arrangedBy arrangement: MultipartRanges) {
        self.init(.arranged(content, arrangement), length: arrangement.length)
    }

    private init(_ storage: Storage, length: Int64) {
        self.storage = storage
        self.length = length
    }

    /// Calls `body` with the first bytes of a range: as many as there are in one piece.
    ///
    /// There are none when a file has become shorter or can no longer be read.
    func withBytes<Result>(_ offsets: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = Int(clamping: offsets.lowerBound)
        let end = Int(clamping: offsets.upperBound)
        switch storage {
        case .data(let data):
            let range = (start..<end).clamped(to: 0..<data.count)
            return data.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        case .generated(let generated):
            return generated.withBytes(at: start, upTo: end - start, body)
        case .arranged(let content, let arrangement):
            guard let (offset, piece) = arrangement.pieces.last(where: { $0.offset <= offsets.lowerBound }) else {
                return body(UnsafeRawBufferPointer(start: nil, count: 0))
            }
            let inner = (offsets.lowerBound - offset)..<(offsets.upperBound - offset)
            switch piece {
            case .framing(let bytes):
                let range = (Int(inner.lowerBound)..<Int(inner.upperBound)).clamped(to: 0..<bytes.count)
                return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
            case .content(let range):
                let upperBound = range.lowerBound + min(Int64(range.count), inner.upperBound)
                return content.withBytes(range.lowerBound + inner.lowerBound..<upperBound, body)
            }
        case .file(let file):
            if !(pieceStart..<(pieceStart + Int64(piece.count))).contains(offsets.lowerBound) {
                load(offsets, from: file)
            }
            let first = Int(offsets.lowerBound - pieceStart)
            let range = (first..<(first + end - start)).clamped(to: 0..<piece.count)
            return piece.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }

    private func load(_ offsets: Range<Int64>, from file: RegularFile) {
        pieceStart = offsets.lowerBound
        piece = (try? file.read(offsets.count, at: offsets.lowerBound)) ?? []
    }
}
