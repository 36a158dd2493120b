/// The progress of a transfer as one line of a given width.
enum ProgressBar {
    /// The shortest bar worth drawing, brackets included.
    private static let shortestBar = 12
    private static let longestBar = 42

    /// The columns that stay free at the end of a line: two for the "^C" that a terminal shows, and the last one, since
    /// writing there makes some terminals start a new line.
    private static let margin = 3

    /// The line for a terminal of `width` characters.
    static func line(_ progress: TransferProgress, width: Int) -> String {
        let room = max(0, width - margin)
        let percent = progress.percent.map { padded("\($0)%", to: 4) }
        let bytes = ByteText.progress(progress.received, of: progress.total)
        let rate = progress.bytesPerSecond.map(ByteText.rate)
        let left = progress.timeLeft.map { TimeText.clock($0) + " left" }

        // From the longest to the shortest; the first that fits is used.
        let choices: [[String?]] = [[bytes, rate, left], [bytes, rate], [bytes], []]
        for parts in choices.map({ $0.compactMap(\.self) }) {
            let text = parts.joined(separator: "  ")
            guard let percent, let fraction = progress.fraction else {
                if text.count <= room { return text }
                continue
            }
            let bare = text.isEmpty ? percent : "\(percent)  \(text)"
            let barLength = min(longestBar, room - bare.count - 1)
            if barLength >= shortestBar, !parts.isEmpty {
                return "\(percent) \(bar(fraction, length: barLength))  \(text)"
            }
            if bare.count <= room { return bare }
        }
        return ""
    }

    private static func bar(_ fraction: Double, length: Int) -> String {
        let inside = length - 2
        let done = min(inside, Int(fraction * Double(inside)))
        guard done < inside else { return "[" + String(repeating: "=", count: inside) + "]" }
        return "[" + String(repeating: "=", count: done) + ">"
            + String(repeating: " ", count: inside - done - 1) + "]"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

/// The progress of several transfers as lines that fit in a terminal: one for each transfer, and a summary.
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

    /// What stays free at the end of a line; see ``ProgressBar``.
    private static let margin = 3
    private static let gap = "  "

    /// The lines, fewer than the terminal's rows, so that messages above them stay visible.
    ///
    /// - Parameter summary: The last line.
    static func lines(_ rows: [Row], summary: String, size: TerminalSize) -> [String] {
        let last = DisplayText.prefix(summary, columns: max(0, size.width - margin))
        let room = max(0, size.height - 2)
        guard rows.count > room else { return lines(rows, width: size.width) + [last] }
        // One row tells how many are not shown.
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
