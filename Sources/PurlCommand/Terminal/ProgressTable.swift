/// Several transfers' progress as lines that fit in a terminal: one for each transfer, and one for all of them.
enum ProgressTable {
    /// One transfer's line.
    struct Row: Equatable {
        let name: String
        let state: State
    }

    /// What a row says behind the name.
    enum State: Equatable {
        case progress(TransferProgress)
        case remark(String)
    }

    /// What stays free at the end of a line; see ``ProgressBar``.
    private static let margin = 3
    private static let gap = "  "

    /// The lines, fewer than the terminal has rows, so that what is said above them is seen.
    ///
    /// - Parameter summary: The last line.
    static func lines(_ rows: [Row], summary: String, size: TerminalSize) -> [String] {
        let last = DisplayText.prefix(summary, columns: max(0, size.width - margin))
        let room = max(0, size.height - 2)
        guard rows.count > room else { return lines(rows, width: size.width) + [last] }
        // One more row says how many are not shown.
        guard room > 1 else { return [last] }
        let more = "… and \(rows.count - room + 1) more"
        return lines(Array(rows.prefix(room - 1)), width: size.width)
            + [DisplayText.prefix(more, columns: max(0, size.width - margin)), last]
    }

    private static func lines(_ rows: [Row], width: Int) -> [String] {
        let longest = rows.map { DisplayText.columns($0.name) }.max() ?? 0
        let nameWidth = min(longest, max(8, width / 3))
        return rows.map { row in
            let left = width - nameWidth - gap.count
            let text =
                switch row.state {
                case .progress(let progress): ProgressBar.line(progress, width: left)
                case .remark(let remark): DisplayText.prefix(remark, columns: max(0, left - margin))
                }
            let line = DisplayText.fitted(row.name, to: nameWidth) + (text.isEmpty ? "" : gap + text)
            return DisplayText.prefix(line, columns: max(0, width - margin))
        }
    }
}
