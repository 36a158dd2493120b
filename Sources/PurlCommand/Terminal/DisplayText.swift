/// Text as a terminal shows it.
enum DisplayText {
    /// Ranges of characters that take two columns: East Asian scripts, full-width forms, emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
        0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// The text without characters that would do something to the terminal: names come from servers and disks.
    static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isDangerous($0) ? "\u{FFFD}" : $0 }))
    }

    /// How many columns the text takes.
    static func columns(_ text: String) -> Int {
        text.reduce(0) { $0 + columns($1) }
    }

    /// The text in exactly `width` columns: filled up with spaces, or with an ellipsis in place of its middle, since
    /// names often differ at their ends.
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

    /// Control characters, and those that turn the direction of what follows.
    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0A: false
        case 0...0x1F, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
