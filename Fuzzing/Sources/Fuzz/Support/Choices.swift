/// An input taken apart: a few small numbers that decide what is tried, and texts for the places where texts stand.
///
/// When it is used up there are zeros and empty texts, so that every input means something.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    /// One byte.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// A number below `count`.
    mutating func number(below count: Int) -> Int { count > 0 ? Int(byte()) % count : 0 }

    /// Yes or no.
    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// One of these.
    mutating func one<Element>(of elements: [Element]) -> Element { elements[number(below: elements.count)] }

    /// Eight bytes as a number, with the extremes and their neighbours made likely.
    mutating func integer() -> Int64 {
        switch byte() & 7 {
        case 0: Int64(byte())
        case 1: -Int64(byte())
        case 2: Int64.max - Int64(byte())
        case 3: Int64.min + Int64(byte())
        case 4: Int64.max / 2 + Int64(byte()) - 128
        case 5: Int64(Int32.max) + Int64(byte()) - 128
        default: Int64(truncatingIfNeeded: (0..<8).reduce(UInt64(0)) { sum, _ in sum << 8 | UInt64(byte()) })
        }
    }

    /// The text up to the next line feed.
    mutating func line() -> String { String(decoding: lineBytes(), as: UTF8.self) }

    /// The bytes up to the next line feed.
    mutating func lineBytes() -> [UInt8] {
        let line = rest.prefix { $0 != 0x0A }
        rest = rest[line.endIndex...].dropFirst()
        return Array(line)
    }

    /// The text up to the next line feed; nil where that is empty.
    mutating func optionalLine() -> String? {
        let text = line()
        return text.isEmpty ? nil : text
    }

    /// All that is left.
    mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
