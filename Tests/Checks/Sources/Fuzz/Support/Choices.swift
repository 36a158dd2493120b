import Foundation

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

/// Ways to hand bytes over that a parser must treat alike.
enum Pieces {
    /// Byte by byte, and in pieces of sizes that the bytes themselves decide: what is found is found again.
    static func ways(of bytes: [UInt8]) -> [[[UInt8]]] {
        [bytes.map { [$0] }, random(of: bytes)]
    }

    /// In pieces of random size, empty ones among them.
    static func random(of bytes: [UInt8]) -> [[UInt8]] {
        var generator = Generator(seededBy: bytes)
        let largest = [3, 17, 200, 5000].randomElement(using: &generator) ?? 17
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 0...largest, using: &generator))
            rest = rest.dropFirst(piece.count)
            pieces.append(Array(piece))
        }
        return pieces
    }
}

/// Random numbers that the same bytes always give.
struct Generator: RandomNumberGenerator {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    init(seededBy bytes: some Sequence<UInt8>) {
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x0100_0000_01b3 }
    }

    mutating func next() -> UInt64 {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// Ends the process, which libFuzzer takes for a find, when a property does not hold.
func require(_ holds: @autoclosure () -> Bool, _ property: @autoclosure () -> String) {
    guard !holds() else { return }
    fail(property())
}

/// Two ways must lead to the same.
func requireSame<Value: Equatable>(_ one: Value, _ other: Value, _ property: @autoclosure () -> String) {
    guard one != other else { return }
    fail("\(property())\n  one:   \(one)\n  other: \(other)")
}

/// A property does not hold.
func fail(_ property: String) -> Never {
    FileHandle.standardError.write(Data("Does not hold: \(property)\n".utf8))
    abort()
}
