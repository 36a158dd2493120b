import Foundation
public import Purl

/// A trace as lines of text: time, task, lane, and what has happened.
///
/// ```
///  0.000 ms  task 1  code      made GET http://127.0.0.1:8080/film
///  0.031 ms  task 1  code      resume()
///  0.112 ms  task 1  network   resume() arrives
/// ```
///
/// Where several connections carry parts of one resource at the same time, lines show which it was. Pieces of a body, and the writes
/// and calls that come with them, are one line each until something else happens, or a pause: with
/// the time from the first to the last, as in `receives 47 pieces, 3.0 MB, 5.5 to 156 ms`. The same events make the same text.
public struct TextTrace: Sendable, CustomStringConvertible {
    /// What the text shows.
    public struct Options: Sendable, Hashable {
        /// Whether lines begin with the time.
        public var showsTimes = true
        /// Whether lines show the identifier of the task.
        public var showsTasks = true
        /// Whether pieces of a body that follow each other are one line.
        public var collapsesPieces = true
        /// Whether heads are followed by their fields.
        public var showsFields = false

        /// The default options.
        public init() {}
    }

    private let recording: TransferTrace.Recording
    private let options: Options

    /// The text of a trace so far.
    ///
    /// - Parameter options: What the text shows.
    public init(_ trace: TransferTrace, options: Options = Options()) {
        self.init(trace.recording, options: options)
    }

    /// The text of a recording.
    ///
    /// - Parameter options: What the text shows.
    public init(_ recording: TransferTrace.Recording, options: Options = Options()) {
        self.recording = recording.bounded
        self.options = options
    }

    /// The text, with a newline at the end of each line.
    public var text: String { lines.map { $0 + "\n" }.joined() }

    /// The lines, as `print` shows them: without a newline at the end.
    public var description: String { lines.joined(separator: "\n") }

    /// The lines.
    public var lines: [String] {
        let steps =
            options.collapsesPieces ? TraceStep.collapsed(recording.events) : recording.events.map(TraceStep.init)
        let times = steps.map { options.showsTimes ? ByteWords.milliseconds($0.event.nanoseconds) : "" }
        let tasks = steps.map { step in options.showsTasks ? step.event.task.map { "task \($0)" } ?? "" : "" }
        let showsConnections = !ConnectionLanes(recording.events).isEmpty
        let connections = steps.map { step in
            showsConnections ? step.event.connection.map { "connection \($0)" } ?? "" : ""
        }
        let timeWidth = times.map(\.count).max() ?? 0
        let taskWidth = tasks.map(\.count).max() ?? 0
        let connectionWidth = connections.map(\.count).max() ?? 0
        var lines: [String] = []
        for (position, step) in steps.enumerated() {
            var columns: [String] = []
            if timeWidth > 0 { columns.append(times[position].padded(before: timeWidth)) }
            if taskWidth > 0 { columns.append(tasks[position].padded(after: taskWidth)) }
            if connectionWidth > 0 { columns.append(connections[position].padded(after: connectionWidth)) }
            columns.append(step.event.lane.name.padded(after: 8))
            columns.append(options.showsTimes ? step.wordsWithPeriod : step.words)
            lines.append(columns.joined(separator: "  "))
            if options.showsFields {
                let indent = String(repeating: " ", count: columns.dropLast().map { $0.count + 2 }.reduce(2, +))
                lines += step.event.kind.fields.map { "\(indent)\($0.name): \($0.value)" }
            }
        }
        if recording.droppedEvents > 0 { lines.append("\(recording.droppedEvents) events were not kept") }
        if recording.droppedBytes > 0 { lines.append("\(recording.droppedBytes) bytes of bodies were not kept") }
        return lines.map(\.inOneLine)
    }
}

extension TransferTrace.Event: CustomStringConvertible {
    /// What has happened, as in a line of ``TextTrace``: when, to which task, where.
    public var description: String {
        let task = task.map { "  task \($0)" } ?? ""
        return "\(ByteWords.milliseconds(nanoseconds))\(task)  \(lane.name)  \(TraceStep(self).words)".inOneLine
    }
}

extension String {
    /// The text with blanks where a line would end, and without characters that control a terminal or the direction of writing:
    /// what a peer says, such as why it closes, may have any.
    fileprivate var inOneLine: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return String(
            map { character in
                if character.isNewline { return " " }
                return character.unicodeScalars.contains(where: \.isControl) ? "\u{FFFD}" : character
            })
    }
}

extension Unicode.Scalar {
    /// Whether it ends a line, or controls a terminal or the direction of writing.
    fileprivate var isControl: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension TransferTrace.Kind {
    fileprivate var fields: [TransferTrace.Field] {
        switch self {
        case .requestHead(let head): head.fields
        case .responseHead(let head), .interimHead(let head): head.fields
        default: []
        }
    }
}

/// An event, or several of a kind that follow each other.
struct TraceStep {
    /// The first of them.
    var event: TransferTrace.Event
    /// How many there are.
    var count = 1
    /// How many bytes they have in all.
    var bytes = 0
    /// The last of them that is a call.
    var lastCall: TransferTrace.DelegateCall?
    /// When the last of them happened.
    var lastNanoseconds: Int64

    init(_ event: TransferTrace.Event) {
        self.event = event
        bytes = event.kind.bytes
        lastNanoseconds = event.nanoseconds
        lastCall = event.kind.begunCall
    }

    /// What has happened, and what a call was called with; of several calls, the last.
    var words: String { wordsWithoutArguments + argumentWords }

    private var argumentWords: String {
        let arguments = lastCall?.arguments?.words ?? ""
        if arguments.isEmpty { return "" }
        return count > 1 ? " (last: \(arguments))" : " (\(arguments))"
    }

    /// The time from the first to the last of several, where that shows: `5.5 to 156 ms`.
    var period: String? {
        guard count > 1 else { return nil }
        let (first, last) = (ByteWords.short(event.nanoseconds), ByteWords.short(lastNanoseconds))
        guard first != last else { return nil }
        let (firstParts, lastParts) = (first.split(separator: " "), last.split(separator: " "))
        // The same unit is said once.
        let isSameUnit = firstParts.count == 2 && firstParts.last == lastParts.last
        return "\(isSameUnit ? String(firstParts[0]) : first) to \(last)"
    }

    /// What has happened, and from when to when.
    var wordsWithPeriod: String { wordsWithoutArguments + (period.map { ", \($0)" } ?? "") + argumentWords }

    var wordsWithoutArguments: String {
        guard count > 1 else { return event.kind.wordsWithoutArguments }
        let amount = "\(count) pieces, \(ByteWords.count(bytes))"
        return switch event.kind {
        case .bodySent: "sends \(amount)"
        case .bodyReceived: "receives \(amount)"
        case .decoded: "decodes \(amount)"
        case .streamSent: "sends \(amount) of the stream"
        case .streamReceived: "receives \(amount) of the stream"
        case .frameSent(let frame): "sends \(frame.words(count, bytes: bytes))"
        case .frameReceived(let frame): "receives \(frame.words(count, bytes: bytes))"
        case .file: "writes \(amount)"
        case .written: "\(amount) are written"
        default: "\(event.kind.wordsWithoutArguments), \(count) times"
        }
    }

    /// A time that shows in the whole: a twentieth of it.
    static func pause(in events: [TransferTrace.Event]) -> Int64 {
        ((events.last?.nanoseconds ?? 0) - (events.first?.nanoseconds ?? 0)) / 20
    }

    /// Events of a body become one step of each kind for as long as no other event of the task happens, and there is no pause.
    static func collapsed(_ events: [TransferTrace.Event]) -> [TraceStep] {
        var steps: [TraceStep] = []
        // By task, since the steps of one are closed at once, of how many tasks there may be.
        var open: [Int?: [Group: Int]] = [:]
        let pause = pause(in: events)
        for event in events {
            guard let kind = event.kind.collapsingKind else {
                if event.kind.endsPieces { open[event.task] = nil }
                steps.append(TraceStep(event))
                continue
            }
            let group = Group(exchange: event.exchange, lane: event.lane, kind: kind)
            if let position = open[event.task]?[group], event.nanoseconds - steps[position].lastNanoseconds > pause {
                // What is done with the pieces after a pause is not drawn above them.
                open[event.task] = nil
            }
            if let position = open[event.task]?[group] {
                steps[position].count += 1
                steps[position].bytes += event.kind.bytes
                steps[position].lastNanoseconds = event.nanoseconds
                steps[position].lastCall = event.kind.begunCall
            } else {
                open[event.task, default: [:]][group] = steps.count
                steps.append(TraceStep(event))
            }
        }
        return steps
    }

    private struct Group: Hashable {
        let exchange: Int?
        let lane: TransferTrace.Lane
        let kind: String
    }
}

extension TransferTrace.Kind {
    /// Whether pieces before and after it are not one step. What is done to the file meanwhile does not matter.
    fileprivate var endsPieces: Bool {
        switch self {
        case .file(.truncate), .file(.sync), .file(.record): false
        default: true
        }
    }

    /// What events that can be one step have in common; `nil` for all others.
    fileprivate var collapsingKind: String? {
        switch self {
        case .bodySent: "sent"
        case .bodyReceived: "received"
        case .decoded: "decoded"
        case .streamSent: "stream sent"
        case .streamReceived: "stream received"
        case .frameSent(let frame): frame.form.isMessage ? "\(frame.form) sent" : nil
        case .frameReceived(let frame): frame.form.isMessage ? "\(frame.form) received" : nil
        case .written: "written"
        case .file(.write): "write"
        case .held(.full), .held(.decoding), .released(.full), .released(.decoding): words
        case .queued(let call), .began(let call), .ended(let call): call.method.isRepeated ? wordsWithoutArguments : nil
        default: nil
        }
    }

    fileprivate var begunCall: TransferTrace.DelegateCall? {
        if case .began(let call) = self { call } else { nil }
    }

    fileprivate var wordsWithoutArguments: String {
        if case .began(let call) = self { "begins \(call.method.rawValue)" } else { words }
    }

    fileprivate var bytes: Int {
        switch self {
        case .bodySent(let piece), .bodyReceived(let piece), .decoded(let piece): piece.count
        case .written(let count), .file(.write(let count)), .streamSent(let count), .streamReceived(let count): count
        case .frameSent(let frame), .frameReceived(let frame): frame.count
        default: 0
        }
    }
}

extension TransferTrace.WebSocketFrame.Form {
    /// Whether it is a message, of which there may be many.
    fileprivate var isMessage: Bool {
        switch self {
        case .text, .binary: true
        case .ping, .pong, .close: false
        }
    }
}

extension TransferTrace.DelegateMethod {
    /// Whether it is called again and again while a body arrives or is sent.
    fileprivate var isRepeated: Bool {
        switch self {
        case .didReceiveData, .didSendBodyData, .didWriteData: true
        default: false
        }
    }
}

extension String {
    func padded(before width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
    func padded(after width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
