import PurlHTTP
import Testing

@Suite("Broken content codings")
struct BrokenCodingTests {
    /// A block with fixed codes that has just begun.
    static let fixed = BitWriter().number(1, 1).number(1, 2)

    /// A block with its own codes: so many literals and distances, and code length codes in their order.
    static func dynamic(_ literals: Int, _ distances: Int, _ codes: [Int]) -> BitWriter {
        codes.reduce(
            BitWriter().number(1, 1).number(2, 2)
                .number(literals - 257, 5).number(distances - 1, 5).number(codes.count - 4, 4)
        ) { $0.number($1, 3) }
    }

    /// The codes 0 for length 1 and 1 for a run of 11 to 138 zeros.
    static func ones(_ literals: Int, _ distances: Int) -> BitWriter {
        dynamic(literals, distances, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    }

    static let blocks: [(String, BitWriter, DecodeError)] = [
        ("a block type that does not exist", BitWriter().number(1, 1).number(3, 2), .invalidBlockType),
        (
            "a stored block whose length was damaged",
            BitWriter().number(1, 1).number(0, 7).number(5, 16).number(0xFFFB, 16), .storedLengthMismatch
        ),
        ("a length symbol that does not exist", fixed.code(0xC6, 8).code(0, 5), .invalidSymbol),
        ("another one", fixed.code(0xC7, 8), .invalidSymbol),
        ("a distance symbol that does not exist", fixed.code(0x30, 8).code(1, 7).code(30, 5), .invalidSymbol),
        ("a match before any byte", fixed.code(1, 7).code(0, 5), .distanceTooFar),
        ("a match that begins one byte too early", fixed.code(0x30, 8).code(1, 7).code(1, 5), .distanceTooFar),
        (
            "a match far before the beginning",
            fixed.code(0x30, 8).code(1, 7).code(29, 5).number(0x1FFF, 13), .distanceTooFar
        ),
        ("too many literals", dynamic(287, 1, [1, 1, 0, 0]), .invalidCodeLengths),
        ("too many distances", dynamic(257, 31, [1, 1, 0, 0]), .invalidCodeLengths),
        ("code length codes that are too many", dynamic(257, 1, [1, 1, 1, 0]), .invalidCodeLengths),
        ("code length codes that leave gaps", dynamic(257, 1, [2, 2, 0, 0]), .invalidCodeLengths),
        ("a repeated length before the first", dynamic(257, 1, [1, 1, 0, 0]).code(0, 1), .invalidCodeLengths),
        (
            "a run of zeros beyond the end",
            ones(257, 1).code(1, 1).number(127, 7).code(1, 1).number(127, 7), .invalidCodeLengths
        ),
        (
            "no end symbol",
            ones(257, 1).code(0, 1).code(0, 1).code(1, 1).number(127, 7).code(1, 1).number(107, 7).code(0, 1),
            .invalidCodeLengths
        ),
        (
            "literals that are too many",
            ones(257, 1).code(0, 1).code(0, 1).code(1, 1).number(127, 7).code(1, 1).number(105, 7).code(0, 1)
                .code(0, 1), .invalidCodeLengths
        ),
        (
            "a distance where there are none",
            dynamic(258, 1, [0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2])
                .code(0, 1).number(127, 7).code(0, 1).number(107, 7).code(3, 2).code(3, 2).code(2, 2)
                .code(1, 1).number(0, 1), .invalidSymbol
        ),
    ]

    @Test("A broken block is rejected, however it is cut", arguments: blocks)
    func brokenBlocks(name: String, block: BitWriter, error: DecodeError) {
        // Empty stored blocks in front keep the bytes from being taken for a zlib header.
        let start: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
        for tail in [[], [UInt8](repeating: 0, count: 40)] {
            for pieces in everySplit(of: start + block.bytes + tail) where error != .invalidSymbol || !tail.isEmpty {
                #expect(decoded(["deflate"], pieces).error == error, "\(name)")
            }
        }
    }

    @Test("A single distance code of one bit is accepted")
    func singleDistance() {
        // Literal 0 has code 0, the end 10, length 3 has 11; distance 1 has code 0.
        let block = Self.dynamic(258, 1, [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2])
            .code(2, 2).code(0, 1).number(127, 7).code(0, 1).number(106, 7).code(3, 2).code(3, 2).code(2, 2)
            .code(0, 1).code(3, 2).code(0, 1).code(2, 2)
        let start: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
        #expect(decoded(["deflate"], [start + block.bytes]) == Decoded(content: [0, 0, 0, 0]))
    }

    static let gzip = CodedSample.short[0].coded
    static let zlib: [UInt8] = CodedSample.short.first { $0.name == "deflate" }?.coded ?? []

    static func damaged(_ bytes: [UInt8], at place: Int, _ value: UInt8) -> [UInt8] {
        var copy = bytes
        copy[place < 0 ? copy.count + place : place] ^= value
        return copy
    }

    static let wrappings: [(String, [UInt8], DecodeError)] = [
        ("gzip", damaged(gzip, at: 0, 1), .invalidHeader),
        ("gzip", damaged(gzip, at: 1, 1), .invalidHeader),
        ("gzip", damaged(gzip, at: 2, 1), .invalidHeader),
        ("gzip", damaged(gzip, at: 3, 0x20), .invalidHeader),
        ("gzip", damaged(gzip, at: 3, 0x80), .invalidHeader),
        ("gzip", "hello, world".bytes, .invalidHeader),
        ("gzip", damaged(gzip, at: -8, 1), .checksumMismatch),
        ("gzip", damaged(gzip, at: -5, 1), .checksumMismatch),
        ("gzip", damaged(gzip, at: -4, 1), .lengthMismatch),
        ("gzip", damaged(gzip, at: -1, 1), .lengthMismatch),
        ("gzip", [0x1F, 0x8B, 8, 2, 0, 0, 0, 0, 0, 3, 0, 0], .headerChecksumMismatch),
        ("deflate", [0x78, 0xBB, 0, 0, 0, 0], .presetDictionary),
        ("deflate", damaged(zlib, at: -1, 1), .checksumMismatch),
        ("deflate", damaged(zlib, at: -4, 1), .checksumMismatch),
    ]

    @Test("Headers and trailers around the compressed bytes are checked, however they are cut", arguments: wrappings)
    func brokenWrapping(coding: String, bytes: [UInt8], error: DecodeError) {
        for pieces in everySplit(of: bytes) { #expect(decoded([coding], pieces).error == error) }
    }

    @Test("A gzip body with one changed bit is rejected, or decoded to the same content", arguments: [1, 3, 4])
    func everyBit(index: Int) {
        let sample = CodedSample.short[index]
        for place in sample.coded.indices {
            for bit in 0..<8 {
                let result = decoded(sample.codings, [Self.damaged(sample.coded, at: place, 1 << bit)])
                #expect(result.error != nil || result.content == sample.expected)
            }
        }
    }

    @Test("Damaged bodies fail alike however they are cut", arguments: UInt64(0)..<12)
    func damage(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for sample in CodedSample.short where !sample.codings.isEmpty {
            for _ in 0..<12 {
                let bytes = random.mutated(sample.coded)
                let whole = decoded(sample.codings, [bytes])
                for limit in [5, .max] {
                    let cut = decoded(sample.codings, random.pieces(of: bytes), limit: limit)
                    // Of several codings any may be the first to notice.
                    let isAlike =
                        sample.codings.count > 1
                        ? (cut.error == nil) == (whole.error == nil) : cut.error == whole.error
                    #expect(isAlike)
                    if whole.error == nil { #expect(cut == whole) }
                }
            }
        }
    }
}
