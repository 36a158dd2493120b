/// A line for a terminal: pieces of text, some of them in colour.
struct TerminalLine: Equatable, ExpressibleByStringLiteral {
    /// The number that selects the colour (ECMA-48, SGR).
    enum Colour: Int {
        case green = 32
        case yellow = 33
    }

    private struct Piece: Equatable {
        var text: String
        let colour: Colour?
    }

    private var pieces: [Piece]

    init(_ text: String, _ colour: Colour? = nil) {
        // Names come from servers and disks.
        pieces = text.isEmpty ? [] : [Piece(text: DisplayText.printable(text), colour: colour)]
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    static func + (left: TerminalLine, right: TerminalLine) -> TerminalLine {
        var line = left
        line.pieces += right.pieces
        return line
    }

    /// What it shows.
    var text: String { pieces.map(\.text).joined() }

    /// How many columns it takes.
    var columns: Int { pieces.reduce(0) { $0 + DisplayText.columns($1.text) } }

    /// As much of its beginning as fits in `limit` columns.
    func prefix(columns limit: Int) -> TerminalLine {
        var line = self
        var room = limit
        line.pieces = pieces.compactMap { piece in
            let text = DisplayText.prefix(piece.text, columns: max(0, room))
            room -= DisplayText.columns(piece.text)
            return text.isEmpty ? nil : Piece(text: text, colour: piece.colour)
        }
        return line
    }

    /// What is written to the terminal.
    func written(inColour: Bool) -> String {
        pieces.map { piece in
            guard inColour, let colour = piece.colour else { return piece.text }
            return "\u{1B}[\(colour.rawValue)m\(piece.text)\u{1B}[39m"
        }.joined()
    }
}
