/// The progress of a transfer, or of several, as one line of a given width.
enum ProgressBar {
    /// The shortest bar worth drawing, brackets included, beside other text and alone.
    private static let (shortestBar, shortestBarAlone) = (12, 8)
    private static let longestBar = 42

    /// The columns that stay free at the end of a line: two for the "^C" that a terminal shows, and the last one, since
    /// writing there makes some terminals start a new line.
    private static let margin = 3

    /// The line for a terminal of `width` characters.
    static func line(_ progress: TransferProgress, width: Int) -> TerminalLine {
        let bytes = ByteText.progress(progress.received, of: progress.total)
        let rate = progress.bytesPerSecond.map(ByteText.rate)
        let left = progress.timeLeft.map { TimeText.clock($0) + " left" }
        let texts = [[bytes, rate, left], [bytes, rate], [bytes]].map { parts in
            parts.compactMap(\.self).joined(separator: "  ")
        }
        guard let percent = progress.percent, let fraction = progress.fraction else {
            return TerminalLine(texts.first { $0.count <= width - margin } ?? "")
        }
        return line(percent: percent, fraction: fraction, texts, width: width)
    }

    /// The line for a terminal of `width` characters: the bar with the longest of the texts beside which it has room, and where
    /// it has none, the percentage.
    ///
    /// - Parameter texts: What may be beside the bar, from the longest to the shortest.
    static func line(percent: Int, fraction: Double, _ texts: [String], width: Int) -> TerminalLine {
        let room = max(0, width - margin)
        let percent = padded("\(percent)%", to: 4)
        for text in texts + [""] {
            let end = text.isEmpty ? "" : "  " + text
            let length = min(longestBar, room - percent.count - 1 - end.count)
            guard length >= (text.isEmpty ? shortestBarAlone : shortestBar) else { continue }
            return TerminalLine(percent + " ") + bar(fraction, length: length) + TerminalLine(end)
        }
        return TerminalLine(percent.count <= room ? percent : "")
    }

    private static func bar(_ fraction: Double, length: Int) -> TerminalLine {
        let inside = length - 2
        let done = min(inside, Int(fraction * Double(inside)))
        let rest = done < inside ? String(repeating: " ", count: inside - done - 1) : ""
        let bar = String(repeating: "=", count: done) + (done < inside ? ">" : "")
        return "[" + TerminalLine(bar, .green) + TerminalLine(rest + "]")
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

/// The progress of several transfers as lines that fit in a terminal: one for each transfer, and one for all.
enum ProgressTable {
    /// One transfer's line.
    struct Row: Equatable {
        let name: String
        let state: State
    }

    /// The text after the name.
    enum State: Equatable {
        case progress(TransferProgress)
        case remark(String)
    }

    /// What stands in place of a name before the bar for all.
    private static let summaryName = "all files"
    /// What stays free at the end of a line; see ``ProgressBar``.
    private static let margin = 3
    private static let gap = "  "

    /// The lines, fewer than the terminal's rows, so that messages above them stay visible.
    ///
    /// - Parameter summary: The last line.
    static func lines(_ rows: [Row], summary: BatchProgress, size: TerminalSize) -> [TerminalLine] {
        let room = max(0, size.height - 2)
        // One row tells how many are not shown.
        let shown = rows.count <= room ? rows : Array(rows.prefix(max(0, room - 1)))
        let longest = (shown.map(\.name) + [summaryName]).map(DisplayText.columns).max() ?? 0
        let nameWidth = min(longest, max(8, size.width / 3))
        let left = size.width - nameWidth - gap.count
        func line(_ name: String, _ text: TerminalLine) -> TerminalLine {
            let name = TerminalLine(DisplayText.fitted(name, to: nameWidth) + (text.columns == 0 ? "" : gap))
            return (name + text).prefix(columns: max(0, size.width - margin))
        }
        var lines = shown.map { row in
            switch row.state {
            case .progress(let progress): line(row.name, ProgressBar.line(progress, width: left))
            case .remark(let remark):
                line(row.name, TerminalLine(DisplayText.prefix(remark, columns: max(0, left - margin)), .yellow))
            }
        }
        if shown.count < rows.count, room > 1 {
            let more = TerminalLine("… and \(rows.count - shown.count) more")
            lines.append(more.prefix(columns: max(0, size.width - margin)))
        }
        let bar = ProgressBar.line(
            percent: summary.percent, fraction: summary.fraction, summary.texts, width: left)
        return lines + [line(summaryName, bar)]
    }
}

/// Progress where lines cannot be redrawn: a line for every 10 per cent or, when the total is unknown, whenever the number
/// of bytes has doubled.
struct ProgressLines {
    /// The first number of bytes that prints a line.
    private static let firstMark: Int64 = 1_000_000

    private var lastTenth: Int
    private var nextMark: Int64

    /// - Parameter start: The counts at the start, or where the transfer resumes.
    init(from start: TransferProgress) {
        lastTenth = (start.percent ?? 0) / 10
        nextMark = max(Self.firstMark, Self.doubled(start.received))
    }

    /// The line to print, if one is due.
    mutating func line(_ progress: TransferProgress) -> String? {
        if let percent = progress.percent {
            guard percent / 10 > lastTenth else { return nil }
            lastTenth = percent / 10
            return text(progress, "\(percent) %")
        }
        guard progress.received >= nextMark else { return nil }
        nextMark = Self.doubled(progress.received)
        return text(progress, nil)
    }

    private func text(_ progress: TransferProgress, _ percent: String?) -> String {
        let parts = [
            percent,
            ByteText.progress(progress.received, of: progress.total),
            progress.bytesPerSecond.map(ByteText.rate),
            progress.timeLeft.map { TimeText.clock($0) + " left" },
        ]
        return parts.compactMap(\.self).joined(separator: "  ")
    }

    private static func doubled(_ bytes: Int64) -> Int64 {
        let (result, overflow) = bytes.multipliedReportingOverflow(by: 2)
        return overflow ? .max : result
    }
}
