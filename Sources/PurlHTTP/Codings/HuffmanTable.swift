/// Finds the meaning of the next bits of a compressed block: one look-up in the first table, for rare long codes
/// another in a second one. Codes come with their first bit lowest, so the index is simply the lowest bits.
struct HuffmanTable: Sendable {
    /// The first table, then all second tables.
    private(set) var entries: [HuffmanEntry] = []
    /// How many bits select an entry of the first table.
    let rootBits: Int

    init(rootBits: Int) {
        self.rootBits = rootBits
    }

    /// Builds the table of the canonical code (RFC 1951 §3.2.2) with those lengths, 0 to 15, one for each symbol;
    /// `meanings` has at least as many. An incomplete code is rejected, with the exception every
    /// encoder relies on: a single code of one bit, or none.
    mutating func build(_ lengths: Span<UInt8>, meanings: [HuffmanEntry]) throws(DecodeError) {
        var counts = InlineArray<16, Int>(repeating: 0)
        for index in lengths.indices { counts[Int(lengths[index] & 15)] += 1 }
        counts[0] = 0
        var longest = 15
        while longest > 0, counts[longest] == 0 { longest -= 1 }
        var free = 1
        for length in 1...15 {
            free = free * 2 - counts[length]
            guard free >= 0 else { throw .invalidCodeLengths }
        }
        guard free == 0 || longest <= 1 else { throw .invalidCodeLengths }

        entries.removeAll(keepingCapacity: true)
        entries.append(contentsOf: repeatElement(HuffmanEntry.invalid.withCode(of: 1), count: 1 << rootBits))
        let symbols = HuffmanTable.sorted(lengths, counts)
        var position = 0
        var code = 0
        for length in 1...15 {
            while counts[length] > 0 {
                let symbol = Int(symbols[position])
                position += 1
                if length <= rootBits {
                    fill(from: code, to: 1 << rootBits, by: 1 << length, meanings[symbol].withCode(of: length))
                } else {
                    if !entries[code & (1 << rootBits - 1)].isLink {
                        link(from: code & (1 << rootBits - 1), length: length, longest: longest, counts)
                    }
                    let link = entries[code & (1 << rootBits - 1)]
                    fill(
                        from: link.value + code >> rootBits, to: link.value + 1 << link.codeBits,
                        by: 1 << (length - rootBits), meanings[symbol].withCode(of: length - rootBits))
                }
                counts[length] -= 1
                code = HuffmanTable.successor(of: code, length)
            }
        }
    }

    /// The symbols that have a code, in the order of their codes.
    private static func sorted(_ lengths: Span<UInt8>, _ counts: InlineArray<16, Int>) -> [UInt16] {
        var next = InlineArray<16, Int>(repeating: 0)
        var total = 0
        for length in 1...15 {
            next[length] = total
            total += counts[length]
        }
        var symbols = [UInt16](repeating: 0, count: total)
        for index in lengths.indices {
            let length = Int(lengths[index] & 15)
            guard length > 0 else { continue }
            symbols[next[length]] = UInt16(index)
            next[length] += 1
        }
        return symbols
    }

    private mutating func fill(from start: Int, to end: Int, by step: Int, _ entry: HuffmanEntry) {
        var index = start
        while index < end {
            entries[index] = entry
            index &+= step
        }
    }

    /// Adds a second table for all codes that begin with those bits. `counts`: the codes not placed yet, of which the
    /// next has `length` bits.
    private mutating func link(from prefix: Int, length: Int, longest: Int, _ counts: InlineArray<16, Int>) {
        // As many bits as the longest code with this beginning has left: codes are placed in order, so the table is
        // large enough as soon as the codes of the lengths so far fill it.
        var indexBits = length - rootBits
        var free = 1 << indexBits - counts[length]
        while free > 0, rootBits + indexBits < longest {
            indexBits += 1
            free = free * 2 - counts[rootBits + indexBits]
        }
        let start = entries.count
        entries.append(contentsOf: repeatElement(HuffmanEntry.invalid.withCode(of: 1), count: 1 << indexBits))
        entries[prefix] = .link(to: start, indexBits: indexBits, rootBits: rootBits)
    }

    /// The code after `code`, counted from its highest bit, which comes first and therefore lies lowest.
    private static func successor(of code: Int, _ length: Int) -> Int {
        var bit = 1 << (length - 1)
        while code & bit != 0 { bit >>= 1 }
        return bit == 0 ? 0 : code & (bit - 1) | bit
    }
}

extension HuffmanTable {
    /// The entry for the lowest of `bits` and how many bits lead to it, the extra bits after the code included.
    func find(_ bits: UInt64) -> (entry: HuffmanEntry, skipped: Int) {
        let entry = entries[Int(truncatingIfNeeded: bits & (1 &<< UInt64(rootBits) &- 1))]
        guard entry.isLink else { return (entry, 0) }
        let rest = bits &>> UInt64(rootBits)
        return (entries[entry.value + Int(truncatingIfNeeded: rest & (1 &<< UInt64(entry.codeBits) &- 1))], rootBits)
    }
}

extension HuffmanTable {
    /// The literals and lengths of a block with fixed codes (RFC 1951 §3.2.6).
    static let fixedLiterals = fixed(
        rootBits: 9,
        lengths: (0..<288).map { $0 < 144 || $0 >= 280 ? 8 : $0 < 256 ? 9 : 7 }, HuffmanEntry.literals)

    /// The distances of a block with fixed codes.
    static let fixedDistances = fixed(
        rootBits: 5, lengths: [UInt8](repeating: 5, count: 32), HuffmanEntry.distances)

    private static func fixed(rootBits: Int, lengths: [UInt8], _ meanings: [HuffmanEntry]) -> HuffmanTable {
        var table = HuffmanTable(rootBits: rootBits)
        // The lengths are a complete code, so this does not fail.
        try? table.build(lengths.span, meanings: meanings)
        return table
    }
}

/// The meaning of the next bits of a compressed block, packed for speed:
/// ```
/// bits 0-5    how many bits to drop: those of the code and the extra bits after it
/// bits 6-9    how many of them are the code; in a link: how many bits select an entry of the second table
/// bits 12-15  what it is
/// bits 16-31  the literal, the base of a length or of a distance, or where the second table begins
/// ```
struct HuffmanEntry: BitwiseCopyable, Sendable {
    let raw: UInt32

    private static let literalFlag: UInt32 = 0x8000
    private static let exceptionFlag: UInt32 = 0x4000
    private static let linkFlag: UInt32 = 0x2000
    private static let endFlag: UInt32 = 0x1000

    private init(raw: UInt32) {
        self.raw = raw
    }

    /// A byte.
    @inline(always) var isLiteral: Bool { raw & HuffmanEntry.literalFlag != 0 }
    /// Neither a literal nor a number: a link, the end of the block or an invalid code.
    @inline(always) var isException: Bool { raw & HuffmanEntry.exceptionFlag != 0 }
    /// The code is longer than the first table's index.
    @inline(always) var isLink: Bool { raw & HuffmanEntry.linkFlag != 0 }
    /// The end of the block.
    @inline(always) var isEnd: Bool { raw & HuffmanEntry.endFlag != 0 }
    /// How many bits to drop.
    @inline(always) var bitCount: Int { Int(raw & 0x3F) }
    /// How many bits are the code; in a link: the index of the second table.
    @inline(always) var codeBits: Int { Int(raw &>> 6 & 0xF) }
    /// The payload.
    @inline(always) var value: Int { Int(raw &>> 16) }

    /// The number this entry and its extra bits give; `bits` begin with the code.
    @inline(always)
    func number(in bits: UInt64) -> Int {
        let known = bits & (1 &<< UInt64(raw & 0x3F) &- 1)
        return value &+ Int(truncatingIfNeeded: known &>> UInt64(raw &>> 6 & 0xF))
    }

    /// The same meaning for a code of that length.
    func withCode(of length: Int) -> HuffmanEntry {
        HuffmanEntry(raw: raw &+ UInt32(length) &+ UInt32(length) << 6)
    }
}

extension HuffmanEntry {
    /// The literal of a byte; also a code length (RFC 1951 §3.2.7).
    static func literal(_ value: Int) -> HuffmanEntry {
        HuffmanEntry(raw: literalFlag | UInt32(value) << 16)
    }

    /// A length or a distance.
    static func number(base: Int, extraBits: Int) -> HuffmanEntry {
        HuffmanEntry(raw: UInt32(base) << 16 | UInt32(extraBits))
    }

    /// A second table for codes that begin alike; `rootBits` have been used to get there.
    static func link(to start: Int, indexBits: Int, rootBits: Int) -> HuffmanEntry {
        HuffmanEntry(
            raw: exceptionFlag | linkFlag | UInt32(start) << 16 | UInt32(indexBits) << 6 | UInt32(rootBits))
    }

    /// The end of the block.
    static let end = HuffmanEntry(raw: exceptionFlag | endFlag)
    /// A symbol that must not occur.
    static let invalid = HuffmanEntry(raw: exceptionFlag)

    /// The meaning of the code length symbols 0 to 18.
    static let codeLengths: [HuffmanEntry] = (0...18).map { literal($0) }

    /// The meaning of the literal and length symbols 0 to 287 (RFC 1951 §3.2.5).
    static let literals: [HuffmanEntry] = {
        var entries = (0...255).map { literal($0) } + [end]
        for symbol in 257..<265 { entries.append(number(base: symbol - 254, extraBits: 0)) }
        var base = 11
        for symbol in 265..<285 {
            let extraBits = (symbol - 261) / 4
            entries.append(number(base: base, extraBits: extraBits))
            base += 1 << extraBits
        }
        // 258 has a symbol of its own, though 284 could express it too.
        entries.append(number(base: 258, extraBits: 0))
        return entries + [invalid, invalid]
    }()

    /// The meaning of the distance symbols 0 to 31.
    static let distances: [HuffmanEntry] = {
        var entries: [HuffmanEntry] = []
        var base = 1
        for symbol in 0..<30 {
            let extraBits = max(0, symbol / 2 - 1)
            entries.append(number(base: base, extraBits: extraBits))
            base += 1 << extraBits
        }
        return entries + [invalid, invalid]
    }()
}
