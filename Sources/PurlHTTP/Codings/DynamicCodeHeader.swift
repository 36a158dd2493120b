/// Reads the codes of a block that brings its own (RFC 1951 §3.2.7).
struct DynamicCodeHeader: Sendable {
    /// The order in which the lengths of the code length codes come.
    private static let order: [UInt8] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private var literalCount = 0
    private var distanceCount = 0
    private var codeCount = 0
    /// How many lengths have been read.
    private var position = 0
    /// First of the code length codes, then of the literals and distances in a row.
    private var lengths: [UInt8] = []
    private var codes = HuffmanTable(rootBits: 7)

    /// The three counts: 14 bits, which are there.
    mutating func takeCounts(_ buffer: inout BitBuffer) throws(DecodeError) {
        literalCount = buffer.take(5) + 257
        distanceCount = buffer.take(5) + 1
        codeCount = buffer.take(4) + 4
        guard literalCount <= 286, distanceCount <= 30 else { throw .invalidCodeLengths }
        position = 0
        lengths = [UInt8](repeating: 0, count: 19)
    }

    /// The code of the code lengths. False when more input is needed.
    mutating func takeCodeCodes(
        _ buffer: inout BitBuffer, _ input: RawSpan, _ place: inout Int
    ) throws(DecodeError) -> Bool {
        while position < codeCount {
            guard buffer.fill(to: 3, from: input, at: &place) else { return false }
            lengths[Int(DynamicCodeHeader.order[position])] = UInt8(buffer.take(3))
            position += 1
        }
        let codeLengths = lengths
        try codes.build(codeLengths.span, meanings: HuffmanEntry.codeLengths)
        position = 0
        lengths = [UInt8](repeating: 0, count: literalCount + distanceCount)
        return true
    }

    /// The lengths of both codes. False when more input is needed.
    mutating func takeCodeLengths(
        _ buffer: inout BitBuffer, _ input: RawSpan, _ place: inout Int
    ) throws(DecodeError) -> Bool {
        while position < lengths.count {
            // A code of up to seven bits and up to seven more.
            _ = buffer.fill(to: 14, from: input, at: &place)
            let entry = codes.find(buffer.bits).entry
            guard entry.bitCount <= buffer.count else { return false }
            guard entry.isLiteral else { throw .invalidSymbol }
            switch entry.value {
            case 16:
                guard position > 0 else { throw .invalidCodeLengths }
                guard try takeRun(of: lengths[position - 1], from: 3, bits: 2, entry, &buffer) else { return false }
            case 17:
                guard try takeRun(of: 0, from: 3, bits: 3, entry, &buffer) else { return false }
            case 18:
                guard try takeRun(of: 0, from: 11, bits: 7, entry, &buffer) else { return false }
            default:
                buffer.drop(entry.bitCount)
                lengths[position] = UInt8(truncatingIfNeeded: entry.value)
                position += 1
            }
        }
        return true
    }

    private mutating func takeRun(
        of length: UInt8, from base: Int, bits: Int, _ entry: HuffmanEntry, _ buffer: inout BitBuffer
    ) throws(DecodeError) -> Bool {
        guard entry.bitCount + bits <= buffer.count else { return false }
        buffer.drop(entry.bitCount)
        let end = position + base + buffer.take(bits)
        guard end <= lengths.count else { throw .invalidCodeLengths }
        while position < end {
            lengths[position] = length
            position += 1
        }
        return true
    }

    /// Makes the tables of the block.
    func build(_ literals: inout HuffmanTable, _ distances: inout HuffmanTable) throws(DecodeError) {
        // Without an end symbol the block could not end.
        guard lengths[256] > 0 else { throw .invalidCodeLengths }
        let all = lengths.span
        try literals.build(all.extracting(first: literalCount), meanings: HuffmanEntry.literals)
        try distances.build(all.extracting(droppingFirst: literalCount), meanings: HuffmanEntry.distances)
    }
}
