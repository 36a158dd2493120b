import Testing

@testable import Purl
@testable import SessionFixtures

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

    #if !canImport(Darwin)
        /// Bytes that arrive in pieces, and are taken piece by piece.
        struct Pieces: AsyncSequence {
            let pieces: [[UInt8]]
            var failure: (any Error)?

            func makeAsyncIterator() -> Iterator { Iterator(rest: pieces[...], failure: failure) }

            struct Iterator: ByteBufferIterator {
                var rest: ArraySlice<[UInt8]>
                var failure: (any Error)?

                mutating func next() async throws -> UInt8? {
                    Issue.record("A byte is taken alone")
                    return nil
                }

                nonisolated(nonsending) mutating func nextBuffer() async throws -> [UInt8]? {
                    if let piece = rest.popFirst() { return piece }
                    if let failure { throw failure }
                    return nil
                }
            }
        }

        /// Every way to cut a few bytes, and for more every way to cut them once or twice.
        private func cuts(of bytes: [UInt8]) -> [[[UInt8]]] {
            func pieces(_ borders: [Int]) -> [[UInt8]] {
                zip([0] + borders, borders + [bytes.count]).map { Array(bytes[$0..<$1]) }.filter { !$0.isEmpty }
            }
            let places = Array(1..<max(bytes.count, 1))
            guard bytes.count > 10 else {
                return (0..<1 << places.count).map { set in pieces(places.filter { set >> ($0 - 1) & 1 == 1 }) }
            }
            return places.flatMap { first in (first..<bytes.count).map { pieces(first == $0 ? [first] : [first, $0]) } }
        }

        private static let ends: Set<UnicodeScalar> = [
            "\n", "\u{0B}", "\u{0C}", "\r", "\u{85}", "\u{2028}", "\u{2029}",
        ]

        @Test(
            "However the bytes are cut, lines, scalars and characters are those of the whole",
            arguments: [
                Array("".utf8), Array("\r".utf8), Array("one\r\ntwo\r\n\r".utf8), Array("a\u{85}\u{2028}b".utf8),
                Array("\u{2029}\n\r\u{0B}\u{0C}a".utf8), Array("\u{2026}\u{A8}\u{28}".utf8), Array("👨‍👩‍👧‍👦!\n👍🏽".utf8),
                Array("🇩🇪🇫🇷🇪".utf8), Array("e\u{301}\u{302}a\r\u{301}".utf8), Array("日本語\u{3099}".utf8),
                Array("\u{1F3FB}\u{200D}©\u{FE0F}".utf8), Array("क्षि\u{600}a".utf8), Array("각\u{1100}\u{1161}".utf8),
                Array("A longer line, of ASCII alone\r\nand another\n".utf8),
                [0x61, 0xFF, 0x0A, 0x80, 0x85, 0xC2], [0xE2, 0x80, 0x0A, 0xE2, 0xE2, 0x80, 0xA8, 0x61],
                [0xF0, 0x9F, 0x98, 0xC2, 0x85, 0xED, 0xA0, 0x80],
                [0xE0, 0x80, 0x80, 0xF4, 0x90, 0x0D, 0x0A, 0xF0, 0x9F],
                [0xC0, 0xAF, 0xE2, 0x82, 0xE2, 0x82, 0xAC, 0xF1, 0x80, 0x80],
            ] as [[UInt8]])
        func cutAnywhere(bytes: [UInt8]) async throws {
            let text = String(decoding: bytes, as: UTF8.self)
            let lines = text.unicodeScalars.split(whereSeparator: Self.ends.contains).map { String($0) }
            for pieces in cuts(of: bytes) {
                let sequence = Pieces(pieces: pieces)
                #expect(try await all(of: sequence.lines) == lines, "\(pieces)")
                #expect(try await all(of: sequence.unicodeScalars) == Array(text.unicodeScalars), "\(pieces)")
                #expect(try await all(of: sequence.characters) == Array(text), "\(pieces)")
            }
            #expect(try await all(of: Bytes(bytes).lines) == lines)
            #expect(try await all(of: Bytes(bytes).unicodeScalars) == Array(text.unicodeScalars))
            #expect(try await all(of: Bytes(bytes).characters) == Array(text))
        }

        private func all<Sequence: AsyncSequence>(of sequence: Sequence) async throws -> [Sequence.Element] {
            var elements: [Sequence.Element] = []
            for try await element in sequence { elements.append(element) }
            return elements
        }

        @Test("An element is returned as soon as it is certain, and no later piece is asked for")
        func atOnce() async throws {
            struct NotYet: Error {}
            var lines = Pieces(pieces: [Array("one\ntwo\r".utf8)], failure: NotYet()).lines.makeAsyncIterator()
            #expect([try await lines.next(), try await lines.next()] == ["one", "two"])
            var scalars = Pieces(pieces: [Array("aé".utf8)], failure: NotYet()).unicodeScalars.makeAsyncIterator()
            #expect([try await scalars.next(), try await scalars.next()] == ["a", "é"])
            var characters = Pieces(pieces: [Array("aéb".utf8)], failure: NotYet()).characters.makeAsyncIterator()
            #expect([try await characters.next(), try await characters.next()] == ["a", "é"])
        }

        @Test("After an error the sequence has ended, and what there was of a line is no line")
        func failed() async throws {
            struct Lost: Error {}
            var lines = Pieces(pieces: [Array("one\ntw".utf8)], failure: Lost()).lines.makeAsyncIterator()
            #expect(try await lines.next() == "one")
            await #expect(throws: Lost.self) { _ = try await lines.next() }
            #expect(try await lines.next() == nil)
        }

        /// Bytes whose iterator checks where it is called.
        struct MainActorBytes: AsyncSequence {
            func makeAsyncIterator() -> Iterator { Iterator() }

            struct Iterator: AsyncIteratorProtocol {
                var rest = Array("one\ntwo".utf8)[...]

                mutating func next() async throws -> UInt8? {
                    try await next(isolation: nil)
                }

                mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                    #expect(actor === MainActor.shared)
                    return rest.popFirst()
                }
            }
        }

        @MainActor @Test("The bytes are asked for on the caller's actor")
        func isolated() async throws {
            var count = 0
            for try await _ in MainActorBytes().lines {
                MainActor.assertIsolated()
                count += 1
            }
            for try await _ in MainActorBytes().characters { count += 1 }
            for try await _ in MainActorBytes().unicodeScalars { count += 1 }
            #expect(count == 16)
        }
    #endif
}
