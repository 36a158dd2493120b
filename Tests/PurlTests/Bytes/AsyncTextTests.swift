import Purl
import Testing

@Suite("Lines, scalars and characters of asynchronous bytes")
struct AsyncTextTests {
    /// The bytes of an array as an asynchronous sequence.
    struct Bytes: AsyncSequence {
        let bytes: [UInt8]

        init(_ text: String) { bytes = Array(text.utf8) }
        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func makeAsyncIterator() -> Iterator { Iterator(rest: bytes[...]) }

        struct Iterator: AsyncIteratorProtocol {
            var rest: ArraySlice<UInt8>

            mutating func next() async throws -> UInt8? { rest.popFirst() }
        }
    }

    static let texts: [(text: String, lines: [String])] = [
        ("", []), ("one", ["one"]), ("one\n", ["one"]), ("one\ntwo", ["one", "two"]),
        ("one\r\ntwo\r\n", ["one", "two"]), ("one\rtwo", ["one", "two"]), ("one\n\n\ntwo\r\r\n\r\n", ["one", "two"]),
        ("one\u{85}two\u{2028}three\u{2029}four", ["one", "two", "three", "four"]),
        ("one\u{0B}two\u{0C}three", ["one", "two", "three"]), ("\n\r\n", []),
        ("ä\u{C5}\u{2026}\u{2027}\u{202A}", ["ä\u{C5}\u{2026}\u{2027}\u{202A}"]), (" \n\t", [" ", "\t"]),
    ]

    @Test("Lines end at Unicode's line breaks, and empty ones are left out", arguments: texts)
    func lines(row: (text: String, lines: [String])) async throws {
        var lines: [String] = []
        for try await line in Bytes(row.text).lines { lines.append(line) }
        #expect(lines == row.lines)
    }

    @Test("Lines can be taken one at a time from an iterator")
    func oneByOne() async throws {
        var lines = Bytes("one\ntwo").lines.makeAsyncIterator()
        var scalars = Bytes("e\u{301}").unicodeScalars.makeAsyncIterator()
        var characters = Bytes("e\u{301}a").characters.makeAsyncIterator()
        #expect([try await lines.next(), try await lines.next(), try await lines.next()] == ["one", "two", nil])
        #expect(
            [try await scalars.next(), try await scalars.next(), try await scalars.next()] == ["e", "\u{301}", nil])
        #expect(
            [try await characters.next(), try await characters.next(), try await characters.next()]
                == ["e\u{301}", "a", nil])
    }

    @Test(
        "Bytes that are cut off or not UTF-8 are replaced as in String",
        arguments: [
            [0xC2], [0xE2, 0x80], [0x61, 0xFF, 0x62], [0xC2, 0x0A, 0x61], [0xE2, 0x0A], [0xF0, 0x9F, 0x98],
            [0xF0, 0x9F, 0x98, 0x80], [0xED, 0xA0, 0x80], [0xE0, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80, 0x80],
            [0xC0, 0xAF], [0xE2, 0x82, 0xE2, 0x82, 0xAC], [0xF1, 0x80, 0x80, 0xC2, 0xA9],
        ] as [[UInt8]])
    func broken(bytes: [UInt8]) async throws {
        var scalars = String.UnicodeScalarView()
        for try await scalar in Bytes(bytes).unicodeScalars { scalars.append(scalar) }
        #expect(String(scalars) == String(decoding: bytes, as: UTF8.self))
        var text = ""
        for try await character in Bytes(bytes).characters { text.append(character) }
        #expect(text == String(decoding: bytes, as: UTF8.self))
    }

    @Test(
        "Characters are whole, however many scalars they have",
        arguments: [
            "", "hello", "e\u{301}a", "👨‍👩‍👧‍👦!", "🇩🇪🇫🇷", "a\r\nb", "日本語",
        ])
    func characters(text: String) async throws {
        var characters: [Character] = []
        for try await character in Bytes(text).characters { characters.append(character) }
        #expect(characters == Array(text))
        var scalars: [UnicodeScalar] = []
        for try await scalar in Bytes(text).unicodeScalars { scalars.append(scalar) }
        #expect(scalars == Array(text.unicodeScalars))
    }
}
