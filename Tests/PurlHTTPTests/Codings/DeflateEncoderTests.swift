import PurlHTTP
import Testing

@Suite("Deflate compression (RFC 1951)")
struct DeflateEncoderTests {
    /// What a decoder makes of the compressed bytes.
    func restored(_ bytes: [UInt8], limit: Int = .max) throws -> [UInt8] {
        var decoder = DeflateDecoder()
        var output: [UInt8] = []
        var offset = 0
        repeat {
            offset += try decoder.decode(
                bytes.span.bytes.extracting(droppingFirst: offset), into: &output, limit: limit)
        } while decoder.stoppedAtLimit || (offset < bytes.count && !decoder.isFinished)
        #expect(offset == bytes.count)
        return output
    }

    func compressed(_ pieces: [[UInt8]], windowBits: Int = 15) -> [UInt8] {
        var encoder = DeflateEncoder(windowBits: windowBits)
        var output: [UInt8] = []
        for piece in pieces { encoder.encode(piece.span.bytes, into: &output) }
        encoder.finish(into: &output)
        return output
    }

    static let exact: [(String, [UInt8])] = [
        ("", [0x03, 0x00]),
        ("a", [0x4A, 0x04, 0x0C, 0x00]),
    ]

    @Test("Known texts compress to known bytes", arguments: exact)
    func knownBytes(text: String, expected: [UInt8]) {
        #expect(compressed([text.bytes]) == expected)
    }

    static let contents: [[UInt8]] = [
        [], [0], "aaaa".bytes, "abcabcabcabc".bytes, CodedSample.words(3_000), CodedSample.noise(3_000),
        [UInt8](repeating: 7, count: 70_000), Array(0...255), CodedSample.noise(300) + CodedSample.noise(299),
    ]

    @Test("Any content survives compression", arguments: contents)
    func roundTrip(content: [UInt8]) throws {
        let whole = compressed([content])
        #expect(try restored(whole) == content)
        #expect(decoded(["deflate"], [whole]) == Decoded(content: content))
        #expect(whole.count <= content.count * 9 / 8 + 4)
        for size in [1, 2, 50, 40_000] where size > 1 || content.count < 5_000 {
            let pieces = stride(from: 0, to: content.count, by: size).map {
                Array(content[$0..<min(content.count, $0 + size)])
            }
            #expect(try restored(compressed(pieces), limit: 1_000) == content)
        }
    }

    @Test("Repetitions of every length survive compression", arguments: [1, 2, 3, 5, 8, 9, 17, 257])
    func lengths(distance: Int) throws {
        for length in Array(1...20) + [34, 35, 66, 67, 130, 131, 226, 227, 257, 258, 259, 260, 261, 516, 517] {
            let start = CodedSample.noise(distance)
            let content = start + (0..<length).map { start[$0 % distance] } + [0xFF]
            #expect(try restored(compressed([content])) == content)
        }
    }

    @Test("Distances up to the window's size are used, larger ones are not", arguments: 8...15)
    func windows(bits: Int) throws {
        let reach = 1 << bits
        let mark = CodedSample.noise(64)
        for (gap, isFound) in [(reach - 64, true), (reach - 63, false)] {
            // A filling that shares no bytes with the mark.
            let start = mark + [UInt8](repeating: 0x61, count: gap)
            let output = compressed([start + mark], windowBits: bits)
            #expect(try restored(output) == start + mark)
            #expect((output.count < compressed([start], windowBits: bits).count + 10) == isFound)
        }
    }

    @Test("Content larger than the window survives compression")
    func sliding() throws {
        let content = (0..<3).flatMap { _ in CodedSample.words(50_000) }
        let output = compressed([content])
        #expect(try restored(output, limit: 10_000) == content)
        #expect(output.count < content.count / 3)
    }

    @Test("After a flush all bytes so far can be decoded, and messages may refer to earlier ones")
    func messages() throws {
        var encoder = DeflateEncoder()
        var decoder = DeflateDecoder()
        var sizes: [Int] = []
        for message in ["hello, world", "", "hello, world", "hello, world!"] {
            var output: [UInt8] = []
            encoder.encode(message.bytes.span.bytes, into: &output)
            encoder.flush(into: &output)
            #expect(output.suffix(4) == [0, 0, 0xFF, 0xFF])
            sizes.append(output.count)
            var content: [UInt8] = []
            #expect(try decoder.decode(output.span.bytes, into: &content, limit: .max) == output.count)
            #expect(content == message.bytes)
        }
        #expect(sizes[1] == 5)
        #expect(sizes[2] < sizes[0])
    }

    @Test("After a reset no earlier bytes are referred to")
    func reset() throws {
        var encoder = DeflateEncoder()
        var first: [UInt8] = []
        encoder.encode("hello, world".bytes.span.bytes, into: &first)
        encoder.flush(into: &first)
        encoder.reset()
        var second: [UInt8] = []
        encoder.encode("hello, world".bytes.span.bytes, into: &second)
        encoder.flush(into: &second)
        #expect(first == second)
        #expect(try restored(second) == "hello, world".bytes)
    }

    @Test("Random messages survive compression", arguments: UInt64(0)..<8)
    func random(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var encoder = DeflateEncoder(windowBits: Int.random(in: 8...15, using: &random))
        var decoder = DeflateDecoder()
        for _ in 0..<40 {
            let letters = UInt8.random(in: 1...255, using: &random)
            let count = Int.random(in: 0...3_000, using: &random)
            let message = (0..<count).map { _ in UInt8.random(in: 0...letters, using: &random) % 7 &* letters }
            var output: [UInt8] = []
            for piece in random.pieces(of: message) { encoder.encode(piece.span.bytes, into: &output) }
            encoder.flush(into: &output)
            var content: [UInt8] = []
            _ = try decoder.decode(output.span.bytes, into: &content, limit: .max)
            #expect(content == message)
        }
    }
}
