/// What the next bits of a compressed block mean, packed for speed:
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
    /// Not a literal and not a number: a link, the end of the block or nothing at all.
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
        // 258 has a symbol of its own, though 284 could say it too.
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
