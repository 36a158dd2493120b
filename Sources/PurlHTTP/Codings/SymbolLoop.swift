/// The fast path of decompression: decodes symbols while there is plenty of input and room, so that most steps need
/// no check. Nearly all time is spent here.
struct SymbolLoop {
    private var bits: UInt64
    private var count: UInt64
    /// Where the next input lies.
    private(set) var position: Int
    /// Where the next decoded byte goes.
    private(set) var place: Int

    init(_ buffer: BitBuffer, position: Int, place: Int) {
        bits = buffer.bits
        count = UInt64(buffer.count)
        self.position = position
        self.place = place
    }

    /// The bits that were read and not used.
    var buffer: BitBuffer { BitBuffer(bits: bits, count: Int(count)) }

    /// The last position at which two words can be read: at most that many for three literals, or two and a match.
    private static func lastPosition(_ input: RawSpan) -> Int { input.byteCount &- 16 }
    private static let lastPlace = InflateWindow.capacity - InflateWindow.longestMatch - 4

    /// Whether there is enough input and room for the loop.
    static func hasRoom(_ input: RawSpan, _ position: Int, _ place: Int) -> Bool {
        position <= lastPosition(input) && place <= lastPlace
    }

    /// True: the block has ended.
    mutating func run(
        _ input: RawSpan, _ literalTable: HuffmanTable, _ distanceTable: HuffmanTable, _ window: inout [UInt8]
    ) throws(DecodeError) -> Bool {
        var storage = window.mutableSpan
        var bytes = MutableRawSpan(_elements: &storage)
        // As plain variables they stay in registers.
        var loop = self
        let isEnd = try loop.run(
            input, literalTable.entries.span, 1 &<< UInt64(literalTable.rootBits) &- 1,
            distanceTable.entries.span, 1 &<< UInt64(distanceTable.rootBits) &- 1, &bytes)
        self = loop
        return isEnd
    }

    private mutating func run(
        _ input: RawSpan, _ literals: Span<HuffmanEntry>, _ literalMask: UInt64,
        _ distances: Span<HuffmanEntry>, _ distanceMask: UInt64, _ bytes: inout MutableRawSpan
    ) throws(DecodeError) -> Bool {
        let lastPosition = SymbolLoop.lastPosition(input)
        while position <= lastPosition, place <= SymbolLoop.lastPlace {
            refill(input)
            var entry = literals[index(literalMask)]
            if entry.isLiteral {
                // Up to three literals with codes of the first table: 30 bits at most.
                put(entry, &bytes)
                entry = literals[index(literalMask)]
                if entry.isLiteral {
                    put(entry, &bytes)
                    entry = literals[index(literalMask)]
                    if entry.isLiteral {
                        put(entry, &bytes)
                        continue
                    }
                }
                // A match may need 48 bits.
                refill(input)
            }
            if entry.isException {
                if entry.isLink {
                    entry = follow(entry, literals)
                    if entry.isLiteral {
                        put(entry, &bytes)
                        continue
                    }
                }
                if entry.isException {
                    guard entry.isEnd else { throw .invalidSymbol }
                    drop(entry)
                    return true
                }
            }
            let length = entry.number(in: bits)
            drop(entry)
            entry = distances[index(distanceMask)]
            if entry.isException {
                if entry.isLink { entry = follow(entry, distances) }
                guard !entry.isException else { throw .invalidSymbol }
            }
            let distance = entry.number(in: bits)
            drop(entry)
            guard distance <= place else { throw .distanceTooFar }
            bytes.copyMatch(to: place, distance: distance, length: length)
            place &+= length
        }
        return false
    }

    /// Reads eight bytes; those that do not fit are read again. Then there are at least 56 bits.
    @inline(always)
    private mutating func refill(_ input: RawSpan) {
        bits |= input.word(at: position) &<< count
        position &+= Int(truncatingIfNeeded: (63 &- count) &>> 3)
        count |= 56
    }

    @inline(always)
    private func index(_ mask: UInt64) -> Int {
        Int(truncatingIfNeeded: bits & mask)
    }

    @inline(always)
    private mutating func drop(_ entry: HuffmanEntry) {
        // The shift takes the six lowest bits alone: the number of bits to drop.
        bits &>>= UInt64(truncatingIfNeeded: entry.raw)
        count &-= UInt64(truncatingIfNeeded: entry.raw & 0x3F)
    }

    @inline(always)
    private mutating func put(_ literal: HuffmanEntry, _ bytes: inout MutableRawSpan) {
        drop(literal)
        bytes.storeBytes(of: UInt8(truncatingIfNeeded: literal.value), toByteOffset: place, as: UInt8.self)
        place &+= 1
    }

    /// The entry of the second table.
    @inline(always)
    private mutating func follow(_ link: HuffmanEntry, _ table: Span<HuffmanEntry>) -> HuffmanEntry {
        drop(link)
        return table[link.value &+ index(1 &<< UInt64(link.codeBits) &- 1)]
    }
}
