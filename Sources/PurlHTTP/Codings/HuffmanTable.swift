/// Finds the meaning of the next bits of a compressed block: one look at the first table, for rare long codes a second
/// look at another one. Codes come with their first bit lowest, so the index is simply the lowest bits.
struct HuffmanTable: Sendable {
    /// The first table, then all second tables.
    private(set) var entries: [HuffmanEntry] = []
    /// How many bits select an entry of the first table.
    let rootBits: Int

    init(rootBits: Int) {
        self.rootBits = rootBits
    }

    /// Builds the table of the canonical code (RFC 1951 §3.2.2) with those lengths, 0 to 15, one for each symbol;
    /// `meanings` has at least as many. A code that could say nothing for some bits is refused, with the exception
    /// every encoder relies on: a single code of one bit, or none.
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
