public import Purl

/// What a test expects of a trace: its events in order, without times.
///
/// ```swift
/// let difference = trace.difference(from: [
///     .anything,
///     .sent(target: "/film"),
///     .received(status: 200),
///     .anything,
///     .delegate(.didComplete, .success(bytes: nil)),
///     .anything,
/// ])
/// #expect(difference == nil)
/// ```
public struct TracePattern: Sendable, ExpressibleByArrayLiteral {
    /// An event of a pattern, or any number of them.
    public enum Step: Sendable {
        /// Any number of events, or none.
        case anything
        /// An event that satisfies a condition. The name is shown where there is none.
        case event(named: String, @Sendable (TransferTrace.Event) -> Bool)
    }

    private let steps: [Step]

    /// A pattern.
    ///
    /// - Parameter steps: The events, in order.
    public init(_ steps: [Step]) {
        self.steps = steps
    }

    /// A pattern.
    ///
    /// - Parameter elements: The events, in order.
    public init(arrayLiteral elements: Step...) {
        self.init(elements)
    }

    /// Where a recording differs from the pattern, with the events around that place; `nil` when it does not.
    ///
    /// - Returns: A text of several lines.
    public func difference(from recording: TransferTrace.Recording) -> String? {
        let events = recording.events
        // How far the steps lead: the events that may come next, or the end.
        var reached: Set<Int> = [0]
        var isOpen = false
        for (position, step) in steps.enumerated() {
            switch step {
            case .anything:
                reached = Set((reached.min() ?? 0)...events.count)
                isOpen = true
            case .event(named: let name, let isExpected):
                let found = reached.filter { $0 < events.count && isExpected(events[$0]) }
                guard !found.isEmpty else {
                    let first = (isOpen ? reached.min() : reached.max()) ?? 0
                    let place = first == events.count ? "at its end" : isOpen ? "from here on" : "here"
                    return "Step \(position + 1) of the pattern, “\(name)”, is not in the trace \(place):\n"
                        + Self.lines(of: recording, around: first)
                }
                reached = Set(found.map { $0 + 1 })
                isOpen = false
            }
        }
        guard !reached.contains(events.count) else { return nil }
        return "The trace continues after the end of the pattern:\n"
            + Self.lines(of: recording, around: reached.max() ?? 0)
    }

    /// The lines of some events, with a mark at one.
    private static func lines(of recording: TransferTrace.Recording, around mark: Int) -> String {
        var options = TextTrace.Options()
        options.showsTimes = false
        options.showsTasks = false
        options.collapsesPieces = false
        let lines = TextTrace(recording, options: options).lines
        let shown = max(0, mark - 3)..<min(lines.count, mark + 12)
        let text = shown.map { ($0 == mark ? "→ " : "  ") + lines[$0] }
        let rest = lines.count > shown.upperBound ? ["  … and \(lines.count - shown.upperBound) more"] : []
        return (text + rest).joined(separator: "\n")
    }
}

extension TracePattern.Step {
    /// An event of exactly this kind.
    ///
    /// - Parameters:
    ///   - kind: What has happened.
    ///   - lane: Where; `nil` for anywhere.
    public static func event(_ kind: TransferTrace.Kind, in lane: TransferTrace.Lane? = nil) -> Self {
        .event(named: kind.words) { $0.kind == kind && (lane ?? $0.lane) == $0.lane }
    }

    /// The head of a request is sent.
    ///
    /// - Parameters:
    ///   - method: The method; `nil` for any.
    ///   - target: The target of the request line; `nil` for any.
    ///   - range: The value of `Range`; `nil` for any, or none.
    public static func sent(method: String? = nil, target: String? = nil, range: String? = nil) -> Self {
        .event(named: ["sends", method ?? "a request", target, range].compactMap(\.self).joined(separator: " ")) {
            guard case .requestHead(let head) = $0.kind else { return false }
            return (method ?? head.method) == head.method && (target ?? head.target) == head.target
                && (range == nil || range == head.value(of: "Range"))
        }
    }

    /// The head of a response has arrived, or that of an interim one.
    ///
    /// - Parameter status: The status; `nil` for any.
    public static func received(status: Int? = nil) -> Self {
        .event(named: "receives " + (status.map(String.init) ?? "a response")) {
            switch $0.kind {
            case .interimHead(let head), .responseHead(let head): (status ?? head.status) == head.status
            default: false
            }
        }
    }

    /// A call of the delegate, or of a handler, begins.
    ///
    /// - Parameter arguments: What it is called with; `nil` for anything.
    public static func delegate(
        _ method: TransferTrace.DelegateMethod, _ arguments: TransferTrace.Arguments? = nil
    ) -> Self {
        let call = TransferTrace.DelegateCall(number: 0, method: method, arguments: arguments)
        return .event(named: TransferTrace.Kind.began(call).words) {
            guard case .began(let call) = $0.kind else { return false }
            return call.method == method && (arguments == nil || arguments == call.arguments)
        }
    }

    /// A call of the delegate, or of a handler, has returned.
    public static func returned(_ method: TransferTrace.DelegateMethod) -> Self {
        .event(named: "ends \(method.rawValue)") {
            if case .ended(let call) = $0.kind { call.method == method } else { false }
        }
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
