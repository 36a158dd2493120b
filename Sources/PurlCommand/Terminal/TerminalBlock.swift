/// Lines at the end of a terminal's output that are redrawn while other lines are printed above them.
///
/// Its methods return the text to write. The cursor rests at the end of the last line, so that the terminal scrolls no
/// earlier than necessary.
struct TerminalBlock: Equatable {
    private static let eraseToEndOfLine = "\u{1B}[K"
    private static let eraseBelow = "\u{1B}[J"

    /// Whether lines are written in their colours.
    let usesColour: Bool
    private var lines: [TerminalLine] = []

    init(usesColour: Bool = false) {
        self.usesColour = usesColour
    }

    /// Replaces the lines. The text is empty when they are the same.
    ///
    /// - Parameter width: The terminal's current width. When it has shrunk, the old lines may be wrapped over more rows.
    mutating func draw(_ new: [TerminalLine], width: Int) -> String {
        guard new != lines else { return "" }
        let old = rows(width)
        let top = toTop(width)
        lines = new
        guard !new.isEmpty else { return top + Self.eraseBelow }
        // Each line's end is erased last: erasing first would show an empty line for a moment.
        let text = top + new.map { written($0) + Self.eraseToEndOfLine }.joined(separator: "\n")
        return old > new.count ? text + Self.eraseBelow : text
    }

    /// Prints a line above the block.
    mutating func print(_ line: String, width: Int) -> String {
        guard !lines.isEmpty else { return line + "\n" }
        return toTop(width) + Self.eraseBelow + line + "\n" + lines.map(written).joined(separator: "\n")
    }

    /// Removes the block. The cursor is then at the beginning of an empty line.
    mutating func erase(width: Int) -> String {
        draw([], width: width)
    }

    private func written(_ line: TerminalLine) -> String { line.written(inColour: usesColour) }

    private func toTop(_ width: Int) -> String {
        let rows = rows(width)
        guard rows > 0 else { return "" }
        return rows > 1 ? "\r\u{1B}[\(rows - 1)A" : "\r"
    }

    /// How many rows the block takes. A terminal that became narrower has wrapped its lines.
    private func rows(_ width: Int) -> Int {
        lines.reduce(0) { $0 + max(1, ($1.columns + width - 1) / max(1, width)) }
    }
}

/// Text for a terminal: what it shows, and how wide that is.
enum DisplayText {
    /// Ranges of characters that take two columns: East Asian scripts, full-width forms, emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// The text without characters that control the terminal: names come from servers and disks.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }

    /// The same in one line: what a server has written must not look like another message.
    static func line(_ text: String) -> String {
        printable(text).replacing("\n", with: "\u{FFFD}")
    }

    /// How many columns the text takes.
    static func columns(_ text: String) -> Int {
        text.reduce(0) { $0 + columns($1) }
    }

    /// The text in exactly `width` columns: padded with spaces, or with an ellipsis in place of its middle, since names often
    /// differ at their ends.
    static func fitted(_ text: String, to width: Int) -> String {
        let length = columns(text)
        if length <= width { return text + String(repeating: " ", count: width - length) }
        guard width > 0 else { return "" }
        let head = prefix(text, columns: width / 2)
        let tail = String(prefix(String(text.reversed()), columns: width - 1 - columns(head)).reversed())
        return fitted(head + "…" + tail, to: width)
    }

    /// As much of the text's beginning as fits in `limit` columns.
    static func prefix(_ text: String, columns limit: Int) -> String {
        var taken = 0
        return String(
            text.prefix { character in
                taken += columns(character)
                return taken <= limit
            })
    }

    private static func columns(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        return wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// Whether it is a control character, or one that changes the direction of writing.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A: false
        case 0...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
