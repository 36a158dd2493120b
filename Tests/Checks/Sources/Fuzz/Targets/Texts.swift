@testable import Purl

extension FuzzTarget {
    /// Lines, scalars and characters of bytes that arrive in pieces: those of the whole text.
    static let texts = FuzzTarget("texts") { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        let ends: Set<UnicodeScalar> = ["\n", "\u{0B}", "\u{0C}", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
        let lines = text.unicodeScalars.split(whereSeparator: ends.contains).map { String($0) }
        for pieces in [[bytes]] + Pieces.ways(of: bytes) {
            requireSame(elements(of: pieces, LineScanner()), lines, "lines are those of the whole")
            requireSame(elements(of: pieces, UnicodeScalarScanner()), Array(text.unicodeScalars), "so are scalars")
            requireSame(elements(of: pieces, CharacterScanner()), Array(text), "so are characters")
        }
    }

    private static func elements<Scanner: TextScanner>(of pieces: [[UInt8]], _ scanner: Scanner) -> [Scanner.Element] {
        var (scanner, text, elements) = (scanner, TextBytes(), [Scanner.Element]())
        for piece in pieces {
            text.append(piece)
            while let element = scanner.next(in: &text) { elements.append(element) }
        }
        text.isComplete = true
        while let element = scanner.next(in: &text) { elements.append(element) }
        return elements
    }
}
