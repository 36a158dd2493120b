internal import PurlHTTP

/// What to write for one response, in order: a value without a socket or a clock.
struct ResponseScript {
    /// One thing to do next.
    enum Step: Equatable {
        /// Write these bytes: heads, chunk framing, raw pieces.
        case bytes([UInt8])
        /// Write these bytes of the content.
        case content(Range<Int64>)
        /// Let the event loop turn, so that what was written before is sent by itself.
        case turn
        /// Something goes wrong.
        case fault(Reply.Fault)
    }

    private static let largestPiece: Int64 = 256 << 10

    private let prelude: [Step]
    private var preludePosition = 0
    private let range: Range<Int64>
    private let faults: [BodyFault]
    private var faultPosition = 0
    private let pieceSize: Int64
    private let turnsAfterPieces: Bool
    private var chunks: ChunkState?
    private var sent: Int64 = 0
    private var isTurnDue = false
    /// The rest of chunk framing that a fault interrupts.
    private var queued: ArraySlice<Step> = []

    private struct BodyFault {
        let offset: Int64
        let fault: Reply.Fault
    }

    /// What is left of the current chunk, and what follows the last.
    private struct ChunkState {
        let size: Int64
        let headEnd: String
        let end: [UInt8]
        var left: Int64 = 0
        /// Where in `end` a fault in the trailers happens.
        var endBreak: Int { end.count > 5 ? 3 + (end.count - 5) / 2 : 3 }
        /// What happens in the next size.
        var sizeFaults: [Reply.Fault]
        /// What happens in the trailers.
        let endFaults: [Reply.Fault]
        /// The line end of the chunk before.
        var separator = ""
        var hasEnded = false
    }

    /// A script for a head and a body.
    ///
    /// - Parameters:
    ///   - prelude: Everything before the body.
    ///   - range: The bytes of the content that are the body.
    ///   - chunking: How the body is cut into chunks.
    ///   - faults: What goes wrong; only faults in the body count.
    ///   - pieceSize: How many bytes are written at a time, with a turn of the loop after each; `nil` for no such limit.
    /// - Throws: When the trailers are not valid.
    init(
        prelude: [Step], range: Range<Int64>, chunking: ReplyTraits.Chunking? = nil, faults: [PlannedFault] = [],
        pieceSize: Int? = nil
    ) throws(EncodeError) {
        if let chunking {
            var end: [UInt8] = []
            try ChunkEncoder.appendEnd(trailers: chunking.trailers, to: &end)
            let headEnd = chunking.chunkExtension.map { ";\($0)\r\n" } ?? "\r\n"
            chunks = ChunkState(
                size: Int64(chunking.size), headEnd: headEnd, end: end,
                sizeFaults: faults.filter { $0.phase == .chunkSize }.map(\.fault),
                endFaults: faults.filter { $0.phase == .trailers }.map(\.fault))
        }
        self.range = range
        self.pieceSize = pieceSize.map { min(Int64($0), Self.largestPiece) } ?? Self.largestPiece
        turnsAfterPieces = pieceSize != nil
        self.prelude = pieceSize.map { size in prelude.flatMap { $0.inPieces(of: size) } } ?? prelude
        let length = Int64(range.count)
        self.faults = faults.compactMap { planned in
            let offset: Int64? =
                switch planned.phase {
                case .beforeHead, .statusLine, .field, .midHead, .chunkSize, .trailers: nil
                case .afterBodyBytes(let count): Int64(max(0, count))
                case .midBody: length / 2
                case .bodyShare(let share):
                    Int64(exactly: (Double(length) * Double(max(0, share)) / 1000).rounded(.down)) ?? .max
                case .beforeLastBytes(let count): max(0, length - Int64(max(0, count)))
                case .chunk: chunking.map { min(Int64($0.size), length) / 2 }
                }
            return offset.map { BodyFault(offset: $0, fault: planned.fault) }
        }.sorted { $0.offset < $1.offset }
    }

    /// A script without chunks, faults and pieces.
    init(prelude: [Step], range: Range<Int64>) {
        self.prelude = prelude
        self.range = range
        faults = []
        pieceSize = Self.largestPiece
        turnsAfterPieces = false
    }

    /// The next step; `nil` after the last.
    mutating func next() -> Step? {
        if preludePosition < prelude.count {
            defer { preludePosition += 1 }
            return prelude[preludePosition]
        }
        if let step = queued.popFirst() { return step }
        if isTurnDue {
            isTurnDue = false
            return .turn
        }
        if faultPosition < faults.count, faults[faultPosition].offset <= sent, hasBody {
            defer { faultPosition += 1 }
            return .fault(faults[faultPosition].fault)
        }
        queued = nextFraming()[...]
        return queued.popFirst() ?? nextContent()
    }

    /// Responses to HEAD, 304s and the like have no body in which something could go wrong.
    private var hasBody: Bool { !range.isEmpty || chunks != nil }

    private mutating func nextFraming() -> [Step] {
        guard var chunks, chunks.left == 0, !chunks.hasEnded else { return [] }
        defer { self.chunks = chunks }
        let separator = [UInt8](chunks.separator.utf8)
        let left = Int64(range.count) - sent
        chunks.left = min(chunks.size, left)
        chunks.hasEnded = left == 0
        chunks.separator = "\r\n"
        let digits = [UInt8](String(chunks.left, radix: 16).utf8)
        let isSecond = !separator.isEmpty || left == 0
        let sizeFaults = isSecond ? chunks.sizeFaults : []
        if isSecond { chunks.sizeFaults = [] }
        guard left == 0 else {
            return (separator + digits + [UInt8](chunks.headEnd.utf8)).split(
                at: separator.count + max(1, digits.count / 2), by: sizeFaults)
        }
        let (size, rest) = (Array(chunks.end[..<chunks.endBreak]), Array(chunks.end[chunks.endBreak...]))
        return (separator + size).split(at: separator.count + 1, by: sizeFaults)
            + rest.split(at: 0, by: chunks.endFaults)
    }

    private mutating func nextContent() -> Step? {
        var count = min(pieceSize, Int64(range.count) - sent)
        if let chunks { count = min(count, chunks.left) }
        if faultPosition < faults.count { count = min(count, faults[faultPosition].offset - sent) }
        guard count > 0 else { return nil }
        let start = range.lowerBound + sent
        sent += count
        chunks?.left -= count
        isTurnDue = turnsAfterPieces
        return .content(start..<(start + count))
    }
}

extension [UInt8] {
    /// The steps that write these bytes, with faults at `offset`.
    fileprivate func split(at offset: Int, by faults: [Reply.Fault]) -> [ResponseScript.Step] {
        guard !faults.isEmpty else { return [.bytes(self)] }
        let (first, rest) = (Array(self[..<offset]), Array(self[offset...]))
        return (first.isEmpty ? [] : [.bytes(first)]) + faults.map { .fault($0) } + [.bytes(rest)]
    }
}

extension ResponseScript.Step {
    /// Bytes in pieces of at most `size`, with a turn after each; other steps as they are.
    fileprivate func inPieces(of size: Int) -> [ResponseScript.Step] {
        switch self {
        case .bytes(let bytes):
            stride(from: 0, to: bytes.count, by: size).flatMap { start in
                let end = start + min(size, bytes.count - start)
                return [.bytes([UInt8](bytes[start..<end])), .turn] as [ResponseScript.Step]
            }
        case .content, .turn, .fault:
            [self]
        }
    }
}
