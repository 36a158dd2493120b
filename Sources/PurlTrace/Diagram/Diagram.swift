import Foundation
public import Purl

/// A trace as a sequence diagram: one lane each for the program, its delegate queue, the network thread, the file worker and
/// the server, and an arrow for each thing that passes between them.
///
/// ```swift
/// try Diagram(trace).svg.write(to: file, atomically: true, encoding: .utf8)
/// ```
///
/// Times during which a task is suspended, waits for its delegate's answer or has as many bytes as it may hold are shaded; a
/// call of the delegate has a box while it runs, and an empty one while it waits in the queue for long. Pieces of a body that
/// follow each other are one arrow with their number. Where several connections carry parts of one resource at the same time, each
/// has a lane in place of the server's. The picture follows the reader's preference for light or dark colours, its
/// texts can be selected, and each part has a title for screen readers. The same recording makes the same bytes.
public struct Diagram: Sendable {
    /// What the diagram is called.
    public var title: String
    private let recording: TransferTrace.Recording

    /// The diagram of a trace so far.
    ///
    /// - Parameter title: What the diagram is called.
    public init(_ trace: TransferTrace, title: String = "A transfer") {
        self.init(trace.recording, title: title)
    }

    /// The diagram of a recording.
    ///
    /// - Parameter title: What the diagram is called.
    public init(_ recording: TransferTrace.Recording, title: String = "A transfer") {
        self.recording = recording.bounded
        self.title = title
    }

    /// The picture.
    public var svg: String { DiagramDrawing(DiagramRows(recording), title: title).svg }
}

/// The places of a diagram's rows, in a drawing that is as wide as its lanes need.
private struct DiagramDrawing {
    /// The distance between lanes, and that between many.
    private static let laneDistances = (usual: 270, least: 180, many: 7)
    /// The longest labels of a single lane, and the title, need this much.
    private static let leastWidth = 760
    private static let gutter = 66
    private static let top = 74
    /// As many rows as fit on a screen have the first height, more of them less, but never less than the second.
    private static let heights = (usual: 24, least: 17, screen: 800)
    /// The mean width of a character, in tenths of a pixel.
    private static let characterWidth = 62

    private let content: DiagramRows
    private let title: String
    private let lanes: [DiagramLane]
    private let rowHeight: Int

    init(_ content: DiagramRows, title: String) {
        self.content = content
        self.title = title
        lanes = content.lanes
        let fitting = Self.heights.screen / max(1, content.rows.count)
        rowHeight = min(Self.heights.usual, max(Self.heights.least, fitting))
    }

    private var height: Int { Self.top + content.rows.count * rowHeight + 44 }

    private var width: Int {
        let distances = Self.laneDistances
        let distance = lanes.count < distances.many ? distances.usual : distances.least
        return max(Self.leastWidth, Self.gutter + 136 + distance * (lanes.count - 1))
    }

    private var laneDistance: Int {
        (width - Self.gutter - 136) / max(1, lanes.count - 1)
    }

    private func x(_ lane: DiagramLane) -> Int {
        Self.gutter + 60 + (lanes.firstIndex(of: lane) ?? 0) * laneDistance
    }

    private func y(_ row: Int) -> Int { Self.top + row * rowHeight + rowHeight - 6 }

    var svg: String {
        var parts: [String] = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" \
            height="\(height)" role="img" aria-labelledby="title description">
            <title id="title">\(title.asMarkup)</title>
            <desc id="description">\(description.asMarkup)</desc>
            \(Self.style)
            \(Self.markers)
            <rect class="ground" width="\(width)" height="\(height)"/>
            <text class="heading" x="16" y="24">\(title.asMarkup)</text>
            """
        ]
        parts += lanes.map(lane)
        parts += content.shades.sorted { $0.rows.lowerBound < $1.rows.lowerBound }.map(shade)
        var shownTime = ""
        for (position, row) in content.rows.enumerated() {
            let time = ByteWords.short(row.nanoseconds)
            if time != shownTime {
                parts.append("<text class=\"time\" x=\"\(Self.gutter - 6)\" y=\"\(y(position) + 4)\">\(time)</text>")
                shownTime = time
            }
            parts.append(draw(row, at: y(position)))
        }
        parts.append(legend)
        parts.append("</svg>\n")
        return parts.joined(separator: "\n")
    }

    private var description: String {
        let names = lanes.map(\.title).joined(separator: ", ")
        let sentences = content.rows.map { row in
            switch row.shape {
            case .arrow(let from, let to, _): "\(from.title) to \(to.title): \(row.title)."
            case .mark(let lane): "\(lane.title): \(row.title)."
            }
        }
        return "A sequence diagram with the lanes \(names). " + sentences.joined(separator: " ")
    }

    // MARK: Parts

    private func lane(_ lane: DiagramLane) -> String {
        let x = x(lane)
        return """
            <line class="lane" x1="\(x)" y1="\(Self.top - 10)" x2="\(x)" y2="\(height - 34)"/>
            <rect class="head" x="\(x - 62)" y="\(Self.top - 36)" width="124" height="26" rx="6"/>
            <text class="name" x="\(x)" y="\(Self.top - 18)">\(lane.title)</text>
            """
    }

    private func shade(_ shade: DiagramRows.Shade) -> String {
        let x = x(.part(shade.lane))
        let (top, bottom) = (y(shade.rows.lowerBound), y(shade.rows.upperBound))
        switch shade.kind {
        case .call:
            return """
                <rect class="call" x="\(x - 4)" y="\(top - 3)" width="8" height="\(max(6, bottom - top + 6))" rx="2">\
                <title>\(shade.title.asMarkup)</title></rect>
                """
        case .waiting:
            // Beside the call that it waits for.
            return """
                <rect class="waiting" x="\(x - 10)" y="\(top)" width="5" height="\(max(6, bottom - top))" rx="2">\
                <title>\(shade.title.asMarkup)</title></rect>
                """
        case .deciding:
            return """
                <rect class="deciding" x="\(x - 4)" y="\(top)" width="8" height="\(max(6, bottom - top))" rx="2">\
                <title>\(shade.title.asMarkup)</title></rect>
                """
        case .suspended, .full:
            let left = x - 11 - shade.depth * 2
            let height = max(rowHeight, bottom - top + rowHeight / 2)
            return """
                <rect class="\(shade.kind.rawValue)" x="\(left)" y="\(top)" width="22" height="\(height)" rx="3">\
                <title>\(shade.title.asMarkup)</title></rect>
                """
        }
    }

    private func draw(_ row: DiagramRows.Row, at y: Int) -> String {
        let content =
            switch row.shape {
            case .arrow(let from, let to, let isCut): arrow(row, x(from), x(to), y, isCut: isCut)
            case .mark(let lane): mark(row, x(lane), y, isLast: lane == lanes.last)
            }
        return "<g class=\"\(row.tone.rawValue)\"><title>\(row.title.asMarkup)</title>\(content)</g>"
    }

    private func arrow(_ row: DiagramRows.Row, _ from: Int, _ to: Int, _ y: Int, isCut: Bool) -> String {
        let direction = to > from ? 1 : -1
        let (start, end) = (from + 5 * direction, to - 7 * direction)
        let middle = (from + to) / 2
        let room = abs(to - from) - 22
        let label = text(fits(row.label, within: room) ? row.label : row.shortLabel, within: room)
        let line =
            "<line class=\"arrow\" x1=\"\(start)\" y1=\"\(y)\" x2=\"\(isCut ? end - 6 * direction : end)\" y2=\"\(y)\""
        let head = isCut ? cross(end - 6 * direction, y) : ""
        let marker = isCut ? "/>" : " marker-end=\"url(#\(row.tone.rawValue)-end)\"/>"
        return line + marker + head + "<text class=\"label\" x=\"\(middle)\" y=\"\(y - 5)\">\(label)</text>"
    }

    private func cross(_ x: Int, _ y: Int) -> String {
        "<path class=\"cross\" d=\"M\(x - 5) \(y - 5)l10 10m0 -10l-10 10\"/>"
    }

    private func mark(_ row: DiagramRows.Row, _ x: Int, _ y: Int, isLast: Bool) -> String {
        let dot = "<circle class=\"dot\" cx=\"\(x)\" cy=\"\(y - 4)\" r=\"3.5\"/>"
        let room = isLast ? laneDistance - 22 : width - x - 20
        let label = text(row.label, within: min(room, laneDistance * 2))
        return dot
            + "<text class=\"\(isLast ? "mark end" : "mark")\" x=\"\(isLast ? x - 10 : x + 10)\" y=\"\(y)\">\(label)</text>"
    }

    private var legend: String {
        let y = height - 14
        let entries = [
            ("suspended", "suspended"), ("full", "full: back-pressure"), ("call", "a call runs"),
            ("waiting", "a call waits in the queue"), ("deciding", "waits for an answer"),
        ]
        var x = 16
        var parts: [String] = []
        for (kind, text) in entries where content.shades.contains(where: { $0.kind.rawValue == kind }) {
            parts.append("<rect class=\"\(kind)\" x=\"\(x)\" y=\"\(y - 10)\" width=\"12\" height=\"12\" rx=\"2\"/>")
            parts.append("<text class=\"legend\" x=\"\(x + 18)\" y=\"\(y)\">\(text)</text>")
            x += 18 + text.count * 7 + 24
        }
        return parts.joined(separator: "\n")
    }

    // MARK: Text

    /// A text that fits into a width, escaped.
    private func text(_ text: String, within width: Int) -> String {
        (fits(text, within: width) ? text : text.prefix(Self.limit(width) - 1) + "…").asMarkup
    }

    private func fits(_ text: String, within width: Int) -> Bool { text.count <= Self.limit(width) }

    /// How many characters fit into a width.
    private static func limit(_ width: Int) -> Int { max(4, width * 10 / characterWidth) }

    private static let style = """
        <style>
        svg { --ground: #ffffff; --ink: #1d2129; --faint: #6a7280; --line: #c3c9d3; --head: #eef1f6; --plain: #3c4656;
          --data: #0b5cad; --answer: #14713d; --failure: #b3261e; --decision: #7a3fa8; --suspended: #b9c0cc;
          --full: #f2b43c; --call: #8fb4e8; --deciding: #cfb0e6;
          font-family: ui-sans-serif, system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; font-size: 12px; }
        @media (prefers-color-scheme: dark) {
          svg { --ground: #14171c; --ink: #e8eaee; --faint: #9aa3b2; --line: #3b424e; --head: #232833; --plain: #c3cad6;
            --data: #6db3ff; --answer: #68d391; --failure: #ff8a80; --decision: #d0a2f2; --suspended: #5a6372;
            --full: #b07a12; --call: #3f689f; --deciding: #6b4688; } }
        .ground { fill: var(--ground); }
        text { fill: var(--ink); }
        .heading { font-size: 15px; font-weight: 600; }
        .name { text-anchor: middle; font-weight: 600; }
        .head { fill: var(--head); stroke: var(--line); }
        .lane { stroke: var(--line); stroke-dasharray: 2 4; }
        .time { text-anchor: end; fill: var(--faint); font-size: 11px; font-variant-numeric: tabular-nums; }
        .legend { fill: var(--faint); font-size: 11px; }
        .label, .mark { paint-order: stroke; stroke: var(--ground); stroke-width: 4px; stroke-linejoin: round; }
        .label { text-anchor: middle; }
        .end { text-anchor: end; }
        .arrow, .cross { stroke: currentColor; stroke-width: 1.5; fill: none; }
        .dot { fill: currentColor; }
        .plain { color: var(--plain); } .data { color: var(--data); } .answer { color: var(--answer); }
        .failure { color: var(--failure); } .decision { color: var(--decision); }
        .data text { fill: var(--data); } .answer text { fill: var(--answer); } .failure text { fill: var(--failure); }
        .decision text { fill: var(--decision); }
        .suspended { fill: var(--suspended); } .full { fill: var(--full); } .call { fill: var(--call); }
        .deciding { fill: var(--deciding); } .waiting { fill: var(--ground); stroke: var(--call); }
        .fill-plain { fill: var(--plain); } .fill-data { fill: var(--data); } .fill-answer { fill: var(--answer); }
        .fill-failure { fill: var(--failure); } .fill-decision { fill: var(--decision); }
        </style>
        """

    private static let markers =
        "<defs>"
        + ["plain", "data", "answer", "failure", "decision"].map { tone in
            "<marker id=\"\(tone)-end\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
                + "orient=\"auto\" markerUnits=\"userSpaceOnUse\">"
                + "<path class=\"fill-\(tone)\" d=\"M0 0.5L8 4L0 7.5z\"/></marker>"
        }.joined() + "</defs>"
}
