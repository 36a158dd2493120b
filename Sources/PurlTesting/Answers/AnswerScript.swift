internal import PurlHTTP

/// What is to be written for one answer, in order. Knows no socket and no time.
struct AnswerScript {
    /// One thing to do.
    enum Step: Equatable {
        /// Write these bytes: heads, chunk framing, raw pieces.
        case bytes([UInt8])
        /// Write these bytes of the content.
        case content(Range<Int64>)
        /// Let the loop turn, so that what was written before travels by itself.
        case turn
        /// Something goes wrong.
        case mishap(Mishap.Action)
    }

    private static let largestPiece: Int64 = 256 << 10

    private let prelude: [Step]
    private var preludePosition = 0
    private let range: Range<Int64>
    private let mishaps: [BodyMishap]
    private var mishapPosition = 0
    private let pieceSize: Int64
    private let takesTurns: Bool
    private var chunks: ChunkState?
    private var sent: Int64 = 0
    private var owesTurn = false

    private struct BodyMishap {
        let offset: Int64
        let action: Mishap.Action
    }

    /// What is still to be written of the current chunk, and after the last.
    private struct ChunkState {
        let size: Int64
        let headEnd: String
        let end: [UInt8]
        var left: Int64 = 0
        /// What the next chunk head, or the end, must begin with.
        var separator = ""
        var isOver = false
    }

    /// First `prelude`, then the bytes `range` of the content, cut up by `chunking` and interrupted by `mishaps`
    /// (of which only those after body bytes count here). With a `pieceSize`, in such pieces, a turn after each.
    init(
        prelude: [Step], range: Range<Int64>, chunking: Traits.Chunking? = nil, mishaps: [Mishap] = [],
        pieceSize: Int? = nil
    ) throws(EncodeError) {
        if let chunking {
            var end: [UInt8] = []
            try ChunkEncoder.appendEnd(trailers: chunking.trailers, to: &end)
            let headEnd = chunking.chunkExtension.map { ";\($0)\r\n" } ?? "\r\n"
            chunks = ChunkState(size: Int64(chunking.size), headEnd: headEnd, end: end)
        }
        self.range = range
        self.pieceSize = pieceSize.map { min(Int64($0), Self.largestPiece) } ?? Self.largestPiece
        takesTurns = pieceSize != nil
        self.prelude = pieceSize.map { size in prelude.flatMap { $0.inPieces(of: size) } } ?? prelude
        self.mishaps = mishaps.compactMap { mishap in
            switch mishap.moment {
            case .beforeHead, .midHead: nil
            case .afterBodyBytes(let count): BodyMishap(offset: Int64(max(0, count)), action: mishap.action)
            }
        }.sorted { $0.offset < $1.offset }
    }

    /// A script that cannot fail: without chunks.
    init(prelude: [Step], range: Range<Int64>) {
        self.prelude = prelude
        self.range = range
        mishaps = []
        pieceSize = Self.largestPiece
        takesTurns = false
    }

    /// The next thing to do; nil when the answer is over.
    mutating func next() -> Step? {
        if preludePosition < prelude.count {
            defer { preludePosition += 1 }
            return prelude[preludePosition]
        }
        if owesTurn {
            owesTurn = false
            return .turn
        }
        if mishapPosition < mishaps.count, mishaps[mishapPosition].offset <= sent, hasBody {
            defer { mishapPosition += 1 }
            return .mishap(mishaps[mishapPosition].action)
        }
        if let framing = nextFraming() { return .bytes(framing) }
        return nextContent()
    }

    /// An answer to HEAD, a 304 and the like have no body in which anything could go wrong.
    private var hasBody: Bool { !range.isEmpty || chunks != nil }

    private mutating func nextFraming() -> [UInt8]? {
        guard var chunks, chunks.left == 0, !chunks.isOver else { return nil }
        defer { self.chunks = chunks }
        let left = Int64(range.count) - sent
        if left == 0 {
            chunks.isOver = true
            return [UInt8](chunks.separator.utf8) + chunks.end
        }
        chunks.left = min(chunks.size, left)
        defer { chunks.separator = "\r\n" }
        return [UInt8]((chunks.separator + String(chunks.left, radix: 16) + chunks.headEnd).utf8)
    }

    private mutating func nextContent() -> Step? {
        var count = min(pieceSize, Int64(range.count) - sent)
        if let chunks { count = min(count, chunks.left) }
        if mishapPosition < mishaps.count { count = min(count, mishaps[mishapPosition].offset - sent) }
        guard count > 0 else { return nil }
        let start = range.lowerBound + sent
        sent += count
        chunks?.left -= count
        owesTurn = takesTurns
        return .content(start..<(start + count))
    }
}

extension AnswerScript.Step {
    /// Bytes in pieces of at most `size`, with a turn after each. Everything else as it is.
    fileprivate func inPieces(of size: Int) -> [AnswerScript.Step] {
        switch self {
        case .bytes(let bytes):
            stride(from: 0, to: bytes.count, by: size).flatMap { start in
                let end = start + min(size, bytes.count - start)
                return [.bytes([UInt8](bytes[start..<end])), .turn] as [AnswerScript.Step]
            }
        case .content, .turn, .mishap:
            [self]
        }
    }
}
