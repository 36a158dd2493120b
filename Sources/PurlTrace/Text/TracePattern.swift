import Foundation
public import Purl

/// What a test expects of a trace: its events in order, without times.
///
/// Each line is the lane and the words of an event, as ``TextTrace`` writes them; blanks count as one, and empty lines and
/// those that begin with `#` as none. A line `…` stands for any number of events, and `…` within a line for any characters.
/// The arguments of a call of the delegate may be left out: `begins didComplete` matches `begins didComplete (no error)`.
///
/// ```swift
/// let difference = trace.difference(
///     from: """
///         …
///         network   sends GET /film
///         network   receives 200 OK
///         …
///         delegate  begins didComplete
///         …
///         """)
/// #expect(difference == nil)
/// ```
public struct TracePattern: Sendable, ExpressibleByStringLiteral {
    private let lines: [String]

    /// A pattern.
    ///
    /// - Parameter text: Its lines.
    public init(_ text: String) {
        lines = text.split(whereSeparator: \.isNewline).map { Self.normal(String($0)) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }

    /// A pattern.
    ///
    /// - Parameter value: Its lines.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    private static func normal(_ line: String) -> String {
        line.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    /// Where a recording differs from the pattern, with the lines around that place; `nil` when it does not.
    ///
    /// - Parameter recording: The recording.
    /// - Returns: A text of several lines.
    public func difference(from recording: TransferTrace.Recording) -> String? {
        var options = TextTrace.Options()
        options.showsTimes = false
        options.showsTasks = false
        let found = TextTrace(recording, options: options).lines.map(Self.normal)
        options.showsArguments = false
        let short = TextTrace(recording, options: options).lines.map(Self.normal)
        // How far the lines of the pattern lead: after each line of it, the lines of the trace that may come next.
        var reached: Set<Int> = [0]
        var isOpen = false
        for (number, line) in lines.enumerated() {
            if line == "…" {
                isOpen = true
                continue
            }
            let candidates = isOpen ? Set((reached.min() ?? 0)..<max(found.count, reached.min() ?? 0)) : reached
            let next = candidates.filter { position in
                position < found.count
                    && (Self.matches(found[position], line) || Self.matches(short[position], line))
            }
            guard !next.isEmpty else { return explanation(of: number, after: reached, in: found, isOpen: isOpen) }
            reached = Set(next.map { $0 + 1 })
            isOpen = false
        }
        guard !isOpen, !reached.contains(found.count) else { return nil }
        let first = reached.max() ?? 0
        return "The trace continues after the end of the pattern:\n" + Self.shown(found, from: first, mark: first)
    }

    private func explanation(of number: Int, after reached: Set<Int>, in found: [String], isOpen: Bool) -> String {
        let first = isOpen ? reached.min() ?? 0 : reached.max() ?? 0
        let place = first < found.count ? (isOpen ? "from here on" : "here") : "at its end"
        return "Line \(number + 1) of the pattern, “\(lines[number])”, is not in the trace \(place):\n"
            + Self.shown(found, from: max(0, first - 3), mark: first)
    }

    private static func shown(_ lines: [String], from start: Int, mark: Int) -> String {
        let shown = lines[min(start, lines.count)..<min(lines.count, mark + 12)]
        let text = shown.indices.map { ($0 == mark ? "→ " : "  ") + lines[$0] }
        let rest = lines.count > mark + 12 ? ["  … and \(lines.count - mark - 12) more"] : []
        return (text + rest).joined(separator: "\n")
    }

    /// Whether a line has the parts between `…` of a pattern's line, in order.
    private static func matches(_ line: String, _ pattern: String) -> Bool {
        let parts = pattern.components(separatedBy: "…")
        guard parts.count > 1 else { return line == pattern }
        guard line.hasPrefix(parts[0]), let last = parts.last, line.hasSuffix(last),
            line.count >= parts[0].count + last.count
        else { return false }
        var rest = line.dropFirst(parts[0].count).dropLast(last.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.range(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return true
    }
}

extension TransferTrace {
    /// Whether the trace so far has the events of a pattern, and no others where the pattern does not allow any.
    ///
    /// - Parameter pattern: The events, in order.
    public func matches(_ pattern: TracePattern) -> Bool { difference(from: pattern) == nil }

    /// Where the trace so far differs from a pattern; `nil` when it does not. For `#expect(trace.difference(from: …) == nil)`,
    /// which shows the place.
    ///
    /// - Parameter pattern: The events, in order.
    public func difference(from pattern: TracePattern) -> String? { pattern.difference(from: recording) }
}
