/// An input taken apart as the fuzzing targets do: a few small numbers that decide what is read, and texts. When it is used
/// up there are zeros and empty texts.
struct Choices {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number(below count: Int) -> Int { count > 0 ? Int(byte()) % count : 0 }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    mutating func one<Element>(of elements: [Element]) -> Element { elements[number(below: elements.count)] }

    /// Eight bytes as a number, with the extremes and their neighbours made likely.
    mutating func integer() -> Int64 {
        switch byte() & 7 {
        case 0: return Int64(byte())
        case 1: return -Int64(byte())
        case 2: return Int64.max - Int64(byte())
        case 3: return Int64.min + Int64(byte())
        case 4: return Int64.max / 2 + Int64(byte()) - 128
        case 5: return Int64(Int32.max) + Int64(byte()) - 128
        default:
            var number: UInt64 = 0
            for _ in 0..<8 { number = number << 8 | UInt64(byte()) }
            return Int64(truncatingIfNeeded: number)
        }
    }

    /// The bytes up to the next line feed.
    mutating func lineBytes() -> [UInt8] {
        let line = rest.prefix { $0 != 0x0A }
        rest = rest[line.endIndex...].dropFirst()
        return Array(line)
    }

    /// The text up to the next line feed.
    mutating func line() -> String { String(decoding: lineBytes(), as: UTF8.self) }

    /// The next line as the value of a field: without controls, and without blanks at its ends.
    mutating func fieldValue() -> String { Self.fieldValue(lineBytes()) }

    /// All that is left.
    mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    static func fieldValue(_ bytes: [UInt8]) -> String {
        var kept = bytes.filter { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }[...]
        while let first = kept.first, first == 0x20 || first == 0x09 { kept.removeFirst() }
        while let last = kept.last, last == 0x20 || last == 0x09 { kept.removeLast() }
        return String(decoding: kept, as: UTF8.self)
    }
}
