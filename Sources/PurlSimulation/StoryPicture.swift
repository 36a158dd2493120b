import PurlTrace

/// A story as a picture: a lane for each process and server, and what happened to them, one below the other.
struct StoryPicture {
    private static let laneWidth = 300
    private static let rowHeight = 22
    private static let timeWidth = 120
    private static let headHeight = 40
    /// A longer story would be too large to look at: its beginning and its end are shown.
    private static let mostRows = 2_000
    /// How many letters a lane has room for.
    private static let letters = 46

    private let entries: [Log.Entry]
    private let omitted: Int
    private let lanes: [String]

    init(_ entries: [Log.Entry]) {
        omitted = max(0, entries.count - Self.mostRows)
        self.entries =
            omitted == 0
            ? entries : Array(entries.prefix(Self.mostRows / 2) + entries.suffix(Self.mostRows - Self.mostRows / 2))
        var lanes: [String] = []
        for entry in entries where !lanes.contains(entry.name) { lanes.append(entry.name) }
        self.lanes = lanes
    }

    var svg: String {
        let width = Self.timeWidth + lanes.count * Self.laneWidth
        let height = Self.headHeight + (entries.count + 1) * Self.rowHeight
        var parts = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
            viewBox="0 0 \(width) \(height)" font-family="sans-serif" font-size="12" role="img">
            <title>What happened in a simulation\(omitted > 0 ? ", without \(omitted) lines of its middle" : "")</title>
            <rect width="100%" height="100%" fill="#ffffff"/>
            """
        ]
        for (index, lane) in lanes.enumerated() {
            let x = place(of: index)
            parts.append("<text x=\"\(x)\" y=\"22\" font-weight=\"bold\">\(lane.asMarkup)</text>")
            parts.append(
                "<line x1=\"\(x)\" y1=\"30\" x2=\"\(x)\" y2=\"\(height)\" stroke=\"#b0b0b0\" stroke-dasharray=\"2 3\"/>"
            )
        }
        for (row, entry) in entries.enumerated() { parts.append(line(entry, row)) }
        return parts.joined(separator: "\n") + "\n</svg>\n"
    }

    private func line(_ entry: Log.Entry, _ row: Int) -> String {
        let y = Self.headHeight + row * Self.rowHeight + Self.rowHeight / 2
        let x = place(of: lanes.firstIndex(of: entry.name) ?? 0)
        let isFault = entry.text.hasPrefix("fault ")
        let color = isFault ? "#b00020" : "#1a1a1a"
        let text = entry.text.count > Self.letters ? entry.text.prefix(Self.letters - 1) + "…" : entry.text[...]
        let (milliseconds, microseconds) = (entry.time / 1_000_000, entry.time / 1_000 % 1_000)
        let fraction = String(repeating: "0", count: 3 - String(microseconds).count) + String(microseconds)
        return """
            <g fill="\(color)"><title>\(entry.text.asMarkup)</title>\
            <text x="\(Self.timeWidth - 12)" y="\(y + 4)" text-anchor="end" fill="#5a5a5a">\(milliseconds).\(fraction) ms</text>\
            <circle cx="\(x)" cy="\(y)" r="\(isFault ? 5 : 3)"/>\
            <text x="\(x + 9)" y="\(y + 4)">\(text.asMarkup)</text></g>
            """
    }

    private func place(of lane: Int) -> Int { Self.timeWidth + lane * Self.laneWidth + 10 }
}
