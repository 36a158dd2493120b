/// Lines at the end of a terminal's output that are drawn again and again, while other lines go by above them.
///
/// A value that knows what is drawn and says what to write; it writes nothing itself. The cursor rests at the end of
/// the last line, so that nothing scrolls before it has to.
struct TerminalBlock: Equatable {
    private static let eraseToEndOfLine = "\u{1B}[K"
    private static let eraseBelow = "\u{1B}[J"

    private var lines: [String] = []

    /// Draws these lines over those drawn before. Nothing when they are the same.
    ///
    /// - Parameter width: The terminal's present width. It may have changed since, and then the lines drawn before may
    ///   take more rows than they are.
    mutating func draw(_ new: [String], width: Int) -> String {
        guard new != lines else { return "" }
        let old = rows(width)
        let top = toTop(width)
        lines = new
        guard !new.isEmpty else { return top + Self.eraseBelow }
        // Each line's end is erased last: erasing first would show an empty line for a moment.
        let text = top + new.map { $0 + Self.eraseToEndOfLine }.joined(separator: "\n")
        return old > new.count ? text + Self.eraseBelow : text
    }

    /// A line that stays, above the block.
    mutating func say(_ line: String, width: Int) -> String {
        guard !lines.isEmpty else { return line + "\n" }
        return toTop(width) + Self.eraseBelow + line + "\n" + lines.joined(separator: "\n")
    }

    /// Takes the block away: the cursor is at the beginning of an empty line.
    mutating func erase(width: Int) -> String {
        draw([], width: width)
    }

    private func toTop(_ width: Int) -> String {
        let rows = rows(width)
        guard rows > 0 else { return "" }
        return rows > 1 ? "\r\u{1B}[\(rows - 1)A" : "\r"
    }

    /// How many rows the block takes: a terminal that became narrower has wrapped its lines.
    private func rows(_ width: Int) -> Int {
        lines.reduce(0) { $0 + max(1, (DisplayText.columns($1) + width - 1) / max(1, width)) }
    }
}
