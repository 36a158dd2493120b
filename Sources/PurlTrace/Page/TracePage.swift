import Foundation
import Purl

/// What a page shows of a recording: its steps, which are the lines of ``TextTrace``, with places in the lanes of ``Diagram``.
struct TracePage {
    private let content: Content

    init(_ recording: TransferTrace.Recording, program: TracedProgram? = nil) {
        let rows = DiagramRows(recording)
        var places = program.map { ProgramPlaces($0, recording.events) }
        let lanes = ConnectionLanes.ordered(
            Set(rows.lanes).union(Set(rows.steps.map(\.event.lane)).map { .part($0) }))
        var states: [Int: TaskState] = [:]
        var stepOfRow: [Int] = []
        let steps = zip(rows.steps, rows.rowOfStep).enumerated().map { position, pair in
            let (step, row) = pair
            if row != nil { stepOfRow.append(position) }
            var state = step.event.task.map { states[$0] ?? TaskState() }
            state?.take(step)
            if let task = step.event.task { states[task] = state }
            return Step(
                step, row.map { rows.rows[$0] }, lanes: lanes, state, places?.places(of: step.event) ?? [])
        }
        content = Content(
            date: recording.startDate.formatted(.iso8601), lanes: lanes.map(\.title),
            tasks: Set(recording.events.compactMap(\.task)).sorted(),
            connections: Set(recording.events.compactMap(\.connection)).sorted(),
            phases: TaskState.Phase.allCases.map(\.rawValue), steps: steps,
            shades: rows.shades.compactMap { Shade($0, lanes: lanes, stepOfRow: stepOfRow) },
            dropped: recording.droppedEvents, program: program?.files.map(File.init))
    }

    /// The data as JSON that can stand within HTML: nothing in it ends an element or begins a comment.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Numbers and texts alone: it can always be encoded.
        guard let data = try? encoder.encode(content) else { return "{}" }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(data.count)
        for byte in data {
            switch byte {
            case UInt8(ascii: "<"): escaped += Array("\\u003c".utf8)
            case UInt8(ascii: ">"): escaped += Array("\\u003e".utf8)
            case UInt8(ascii: "&"): escaped += Array("\\u0026".utf8)
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}

extension TracePage {
    fileprivate struct Content: Encodable {
        let date: String
        let lanes: [String]
        let tasks: [Int]
        let connections: [Int]
        /// The names of a task's phases.
        let phases: [String]
        let steps: [Step]
        let shades: [Shade]
        /// How many events were not kept.
        let dropped: Int
        let program: [File]?
    }

    /// A file of the program.
    fileprivate struct File: Encodable {
        let name: String
        let first: Int
        let lines: [String]

        init(_ file: TracedProgram.File) {
            name = file.name
            first = file.firstLine
            lines = file.text.components(separatedBy: "\n")
        }
    }

    /// What the page shows of one step. The names are short, since there may be a hundred thousand.
    fileprivate struct Step: Encodable {
        /// When it has happened, in nanoseconds, and how much later the last of several.
        let t: Int64
        let d: Int64?
        /// How many events it stands for.
        let n: Int?
        /// The task, the connection and the exchange.
        let k: Int?
        let c: Int?
        let x: Int?
        /// The lane, and where an arrow leads; its last number is 1 where it is cut.
        let l: Int
        let a: [Int]?
        /// The tone of a diagram's row.
        let r: String?
        /// What has happened, and the label in the lanes where that is shorter.
        let w: String
        private(set) var b: String?
        /// A head as it was sent, and the first bytes of content, in Base64.
        let h: String?
        let f: Data?
        /// The state of the task afterwards: its phase, the bytes sent and received, those written, and those that the
        /// record vouches for. The last two are -1 where there is no file, or no record.
        let s: [Int64]?
        /// The lines of the program, or those of which one is meant.
        let p: [ProgramPlaces.Place]?

        init(
            _ step: TraceStep, _ row: DiagramRows.Row?, lanes: [DiagramLane], _ state: TaskState?,
            _ places: [ProgramPlaces.Place]
        ) {
            let event = step.event
            p = places.isEmpty ? nil : places
            t = event.nanoseconds
            d = step.lastNanoseconds > event.nanoseconds ? step.lastNanoseconds - event.nanoseconds : nil
            n = step.count > 1 ? step.count : nil
            k = event.task
            c = event.connection
            x = event.exchange
            w = step.wordsWithPeriod.shortened(to: Self.shownWords)
            b = row?.label.shortened(to: Self.shownWords)
            if b == w { b = nil }
            r = row.map(\.tone.rawValue)
            h = event.kind.head?.shortened(to: Self.shownHead)
            f = event.kind.content?.prefix(Self.shownContent)
            s = state?.numbers
            switch row?.shape {
            case .arrow(let from, let to, let isCut):
                l = lanes.firstIndex(of: from) ?? 0
                a = [l, lanes.firstIndex(of: to) ?? 0] + (isCut ? [1] : [])
            case .mark(let lane):
                l = lanes.firstIndex(of: lane) ?? 0
                a = nil
            case nil:
                l = lanes.firstIndex(of: .part(event.lane)) ?? 0
                a = nil
            }
        }

        /// So many bytes of content are shown.
        private static let shownContent = 256
        /// Letters of words and of a head: what servers send is never longer, and a trace from elsewhere may be.
        private static let shownWords = 2_000
        private static let shownHead = 100_000
    }

    /// A time that is shaded in a lane, from one step to another.
    fileprivate struct Shade: Encodable {
        let l: Int
        let k: String
        let from: Int
        let to: Int
        let title: String

        init?(_ shade: DiagramRows.Shade, lanes: [DiagramLane], stepOfRow: [Int]) {
            guard let lane = lanes.firstIndex(of: .part(shade.lane)), !stepOfRow.isEmpty else { return nil }
            l = lane
            k = shade.kind.rawValue
            from = stepOfRow[min(shade.rows.lowerBound, stepOfRow.count - 1)]
            to = stepOfRow[min(shade.rows.upperBound, stepOfRow.count - 1)]
            title = shade.title
        }
    }
}

/// What a trace says of a task so far.
private struct TaskState {
    enum Phase: String, CaseIterable {
        case made = "made, not begun"
        case running = "running"
        case suspended = "suspended"
        case asking = "waits for the delegate’s answer"
        case cancelling = "about to be cancelled"
        case replaced = "replaced by another task"
        case complete = "complete"
        case failed = "failed"
    }

    private var phase = Phase.made
    private var sent: Int64 = 0
    private var received: Int64 = 0
    private var written: Int64?
    private var recorded: Int64?

    var numbers: [Int64] {
        [Int64(Phase.allCases.firstIndex(of: phase) ?? 0), sent, received, written ?? -1, recorded ?? -1]
    }

    mutating func take(_ step: TraceStep) {
        let bytes = Int64(step.bytes)
        switch step.event.kind {
        case .message(.resume): phase = .running
        case .message(.suspend): phase = .suspended
        case .message(.cancel), .message(.cancelByProducingResumeData), .message(.cancelWithReason): phase = .cancelling
        case .held(.deciding): if phase == .running { phase = .asking }
        case .released(.deciding): if phase == .asking { phase = .running }
        case .replaced: phase = .replaced
        case .completed(let error): phase = error == nil ? .complete : .failed
        case .bodySent, .streamSent, .frameSent: sent += bytes
        case .bodyReceived, .streamReceived, .frameReceived: received += bytes
        case .storing(let offset): written = offset
        case .file(.create): written = written ?? 0
        case .file(.write): written = (written ?? 0) + bytes
        case .file(.truncate): written = 0
        case .file(.record(let bytes)): recorded = bytes ?? recorded
        case .call, .answer, .waiting, .dialling, .lookUp, .resolved, .handshake, .secured, .handshakeFailed,
            .connected,
            .dialFailed, .requestHead, .requestEnd, .interimHead, .responseHead, .decoded, .responseEnd, .switched,
            .exchangeFailed, .abandoned, .localResponse, .held, .released, .cache, .cookiesSent, .cookiesReceived,
            .redirect, .challenge, .credentials, .retry, .redial, .written, .file, .queued, .began, .ended, .made,
            .note,
            .unknown:
            break
        }
    }
}

extension String {
    /// The text up to a number of Unicode scalars, and how many it has if there are more.
    fileprivate func shortened(to limit: Int) -> String {
        let scalars = unicodeScalars
        guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return self }
        return "\(self[..<end]) … (\(scalars.count) letters)"
    }
}

extension TransferTrace.Kind {
    /// The head that was sent or received, as lines.
    fileprivate var head: String? {
        let (first, fields): (String, [TransferTrace.Field])
        switch self {
        case .requestHead(let head): (first, fields) = ("\(head.method) \(head.target) HTTP/1.1", head.fields)
        case .responseHead(let head), .interimHead(let head):
            (first, fields) = ("HTTP/1.1 \(head.status) \(head.reason)", head.fields)
        default: return nil
        }
        return ([first] + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
    }

    /// The first bytes of content that were kept.
    fileprivate var content: Data? {
        switch self {
        case .bodySent(let piece), .bodyReceived(let piece), .decoded(let piece): piece.content
        case .frameSent(let frame), .frameReceived(let frame): frame.content
        default: nil
        }
    }
}
