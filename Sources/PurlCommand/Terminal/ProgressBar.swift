/// A transfer's progress as one line of a given width.
enum ProgressBar {
    /// The shortest bar worth drawing, brackets included.
    private static let shortestBar = 12
    private static let longestBar = 42

    /// What stays free at the end of a line: room for the "^C" that a terminal shows when it is pressed, and the last
    /// column, since writing there makes some terminals begin a new line.
    private static let margin = 3

    /// A line that fits in a terminal of `width` characters.
    static func line(_ progress: TransferProgress, width: Int) -> String {
        let room = max(0, width - margin)
        let percent = progress.percent.map { padded("\($0)%", to: 4) }
        let bytes = ByteText.progress(progress.received, of: progress.total)
        let rate = progress.bytesPerSecond.map(ByteText.rate)
        let left = progress.timeLeft.map { TimeText.clock($0) + " left" }

        // From the fullest to the shortest; the first that fits is taken.
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
