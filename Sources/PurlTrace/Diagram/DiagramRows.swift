import Foundation
import Purl

/// What a diagram shows, row by row, before it has places.
struct DiagramRows {
    /// How an arrow or a mark looks.
    enum Tone: String {
        case plain, data, answer, failure, decision
    }

    enum Shape {
        /// From one lane to another.
        case arrow(from: DiagramLane, to: DiagramLane, isCut: Bool)
        /// A remark beside one lane.
        case mark(DiagramLane)
    }

    struct Row {
        var shape: Shape
        var label: String
        /// What stands in place of the label where that does not fit.
        var shortLabel: String
        var title: String
        var tone: Tone
        var nanoseconds: Int64
    }

    /// A time that is shaded.
    struct Shade {
        enum Kind: String {
            case suspended, full, deciding, call, waiting
        }

        var lane: TransferTrace.Lane
        var kind: Kind
        /// The rows between which it lies; it begins at the first and ends at the last.
        var rows: ClosedRange<Int>
        var title: String
        /// How many tasks or calls have begun before it and not ended: it is drawn beside theirs.
        var depth: Int
    }

    private(set) var rows: [Row] = []
    private(set) var shades: [Shade] = []
    /// The steps of the recording, in order.
    let steps: [TraceStep]
    /// The row of each step that has one.
    private(set) var rowOfStep: [Int?] = []
    private var holds: [HoldKey: OpenHold] = [:]
    private var openCalls: [Int: (row: Int, since: Int64, waited: Int64)] = [:]
    private var queued: [Int: (row: Int, since: Int64)] = [:]
    private var errors: [Int: String] = [:]
    private let showsTasks: Bool
    private let connectionLanes: ConnectionLanes
    /// The connection of the step that is added.
    private var connection: Int?
    /// A time that shows in the whole.
    private let pause: Int64

    private struct HoldKey: Hashable {
        let task: Int?
        let hold: TransferTrace.Hold
    }

    /// A hold comes and goes with pieces, which are one row: steps of several then add and take away as many.
    private struct OpenHold {
        var count = 0
        var times = 0
        var row: Int?
        var since: Int64 = 0
    }

    init(_ recording: TransferTrace.Recording) {
        let events = recording.events
        pause = TraceStep.pause(in: events)
        showsTasks = Set(events.compactMap(\.task)).count > 1
        connectionLanes = ConnectionLanes(events)
        steps = TraceStep.collapsed(events)
        for (step, connection) in zip(steps, ConnectionLanes.connections(of: steps)) {
            let count = rows.count
            self.connection = connection
            add(step)
            rowOfStep.append(rows.count > count ? count : nil)
        }
        let last = events.last?.nanoseconds ?? 0
        for key in holds.keys.sorted(by: { ($0.task ?? 0, $0.hold.rawValue) < ($1.task ?? 0, $1.hold.rawValue) }) {
            close(key, at: last)
        }
        if recording.droppedEvents > 0 {
            rows.append(
                Row(
                    shape: .mark(.part(.network)), label: "\(recording.droppedEvents) events were not kept",
                    shortLabel: "\(recording.droppedEvents) events were not kept",
                    title: "The trace had no room for them.", tone: .failure, nanoseconds: last))
        }
    }

    /// The lanes that have something to show, from the left.
    var lanes: [DiagramLane] {
        let used = Set(
            rows.flatMap { row in
                switch row.shape {
                case .arrow(let from, let to, _): [from, to]
                case .mark(let lane): [lane]
                }
            })
        return ConnectionLanes.ordered(used.union([.part(.network)]))
    }

    // MARK: Rows

    private mutating func add(_ step: TraceStep) {
        let event = step.event
        switch event.kind {
        case .made(let method, let url):
            mark(event, "task \(event.task ?? 0)" + (url.isEmpty ? "" : ": \(method) \(url)"), .plain)
        case .call(let call):
            arrow(event, event.lane, .network, call.words, .plain)
        case .answer(let method):
            arrow(event, .delegateQueue, .network, "answer", .decision, title: "answer to \(method.rawValue)")
        case .dialFailed(let reason):
            arrow(event, .network, .server, "cannot connect", .failure, isCut: true, title: reason)
        case .connected(let connection):
            guard !connection.isReused else { return }
            arrow(event, .network, .server, "connects", .plain, title: connection.words)
        case .requestHead(let head):
            let range = head.value(of: "Range").map { " · \($0)" } ?? ""
            arrow(event, .network, .server, "\(head.method) \(head.target)\(range)", .data, title: head.url)
        case .handshake(let host):
            arrow(event, .network, .server, "TLS handshake", .plain, title: "TLS handshake with \(host)")
        case .secured(let security):
            arrow(event, .server, .network, security.version, .answer, title: security.words)
        case .handshakeFailed(let reason):
            arrow(event, .network, .server, "no TLS", .failure, isCut: true, title: reason)
        case .frameSent(let frame):
            pieces(step, from: .network, to: .server, frame.words(step.count, bytes: step.bytes), .data)
        case .frameReceived(let frame):
            pieces(step, from: .server, to: .network, frame.words(step.count, bytes: step.bytes), .answer)
        case .streamSent, .bodySent: pieces(step, from: .network, to: .server, amount(step), .data)
        case .streamReceived, .bodyReceived: pieces(step, from: .server, to: .network, amount(step), .answer)
        case .interimHead(let head), .responseHead(let head):
            let label = "\(head.status) \(head.reason)"
            arrow(event, .server, .network, label, .answer, title: head.words)
        case .exchangeFailed(let reason):
            arrow(event, .server, .network, "connection lost", .failure, isCut: true, title: reason)
        case .abandoned:
            arrow(event, .network, .server, "gives up the response", .failure, isCut: true)
        case .switched(let status):
            arrow(event, .server, .network, "\(status), another protocol", .answer)
        case .file(.write):
            pieces(step, from: .network, to: .files, amount(step), .data)
        case .file(let file):
            addFile(file, event)
        case .began(let call):
            begin(call, step)
        case .ended(let call):
            end(call, step)
        case .queued(let call):
            queued[call.number] = (rows.count, event.nanoseconds)
        case .held(let hold): add(step.count, to: HoldKey(task: event.task, hold: hold), event.nanoseconds)
        case .released(let hold): add(-step.count, to: HoldKey(task: event.task, hold: hold), step.lastNanoseconds)
        case .completed(let error):
            if let task = event.task { errors[task] = error }
            for hold in [TransferTrace.Hold.suspended, .deciding, .full] {
                close(HoldKey(task: event.task, hold: hold), at: event.nanoseconds)
            }
        case .cache(.miss), .message, .waiting, .dialling, .requestEnd, .responseEnd, .decoded, .written: break
        case .storing(let offset):
            if offset > 0 { mark(event, "continues at byte \(offset)", .decision) }
        case .lookUp, .resolved, .unknown:
            mark(event, event.kind.words, .plain)
        case .localResponse, .cache, .cookiesSent, .cookiesReceived, .redirect, .challenge, .credentials, .retry,
            .redial,
            .replaced:
            mark(event, event.kind.words, .decision)
        case .note(let text):
            mark(event, text, .plain)
        }
    }

    private mutating func addFile(_ step: TransferTrace.FileStep, _ event: TransferTrace.Event) {
        switch step {
        case .create, .truncate, .write: break
        case .sync, .record, .complete, .stop:
            var event = event
            event.lane = .files
            mark(event, step.words, .plain)
        }
    }

    private func amount(_ step: TraceStep) -> String {
        let bytes = ByteWords.count(step.bytes)
        return step.count == 1 ? bytes : "\(step.count) pieces, \(bytes)"
    }

    /// An arrow for one piece, or for several, with the time from the first to the last where there is room for it.
    private mutating func pieces(
        _ step: TraceStep, from: TransferTrace.Lane, to: TransferTrace.Lane, _ label: String, _ tone: Tone
    ) {
        arrow(
            step.event, from, to, step.period.map { "\(label), \($0)" } ?? label, tone, title: step.wordsWithPeriod,
            shortLabel: label)
    }

    private mutating func arrow(
        _ event: TransferTrace.Event, _ from: TransferTrace.Lane, _ to: TransferTrace.Lane, _ label: String,
        _ tone: Tone, isCut: Bool = false, title: String? = nil, shortLabel: String? = nil
    ) {
        rows.append(
            Row(
                shape: .arrow(from: place(from), to: place(to), isCut: isCut), label: labelled(label, event),
                shortLabel: labelled(shortLabel ?? label, event), title: title ?? label, tone: tone,
                nanoseconds: event.nanoseconds))
    }

    /// The lane of an arrow's end: a connection in place of the server, where connections have lanes.
    private func place(_ lane: TransferTrace.Lane) -> DiagramLane {
        lane == .server ? connectionLanes.lane(of: connection) : .part(lane)
    }

    private mutating func mark(_ event: TransferTrace.Event, _ label: String, _ tone: Tone) {
        rows.append(
            Row(
                shape: .mark(.part(event.lane)), label: labelled(label, event), shortLabel: labelled(label, event),
                title: label, tone: tone,
                nanoseconds: event.nanoseconds))
    }

    private func labelled(_ label: String, _ event: TransferTrace.Event) -> String {
        // Where a task is made, its number is in the label.
        if case .made = event.kind { return label }
        guard showsTasks, let task = event.task else { return label }
        return "\(task): \(label)"
    }

    // MARK: Calls

    private mutating func begin(_ call: TransferTrace.DelegateCall, _ step: TraceStep) {
        let event = step.event
        var label = call.method.rawValue
        if step.count > 1 { label += ", \(step.count) times" }
        let progress = step.lastCall?.arguments?.shortProgress
        let shortLabel = progress.map { "\(call.method.rawValue): \($0)" } ?? label
        if let period = step.period { label += ", \(period)" }
        var tone = Tone.plain
        let ends: Set<TransferTrace.DelegateMethod> = [.didComplete, .completionHandler, .continuation]
        if ends.contains(call.method), let task = event.task, let error = errors[task] {
            label += ": \(error)"
            tone = .failure
        } else if let arguments = step.lastCall?.arguments?.shortWords, !arguments.isEmpty {
            label += ": \(arguments)"
        }
        let queued = queued.removeValue(forKey: call.number) ?? (rows.count, event.nanoseconds)
        let waited = event.nanoseconds - queued.since
        if waited > pause, queued.row < rows.count {
            shades.append(
                Shade(
                    lane: event.lane, kind: .waiting, rows: max(0, queued.row - 1)...rows.count,
                    title: "\(call.method.rawValue): waits \(ByteWords.short(waited))", depth: 0))
        }
        openCalls[call.number] = (rows.count, event.nanoseconds, waited)
        // An error is shown as far as it fits, numbers as a whole or not at all.
        arrow(
            event, .network, event.lane, label, tone, title: step.wordsWithPeriod,
            shortLabel: tone == .failure ? label : shortLabel)
    }

    private mutating func end(_ call: TransferTrace.DelegateCall, _ step: TraceStep) {
        guard let open = openCalls.removeValue(forKey: call.number) else { return }
        let ran = step.event.nanoseconds - open.since
        let title =
            "\(call.method.rawValue): waited \(ByteWords.short(open.waited)), ran \(ByteWords.short(ran))"
        shades.append(
            Shade(
                lane: step.event.lane, kind: .call, rows: open.row...max(open.row, rows.count - 1), title: title,
                depth: 0))
    }

    // MARK: Holds

    private mutating func add(_ count: Int, to key: HoldKey, _ nanoseconds: Int64) {
        var hold = holds[key] ?? OpenHold()
        hold.count += count
        hold.times += max(0, count)
        if hold.count > 0, hold.row == nil { (hold.row, hold.since) = (rows.count, nanoseconds) }
        holds[key] = hold
        if hold.count <= 0, hold.row != nil { close(key, at: nanoseconds) }
    }

    /// Shades the rows between the beginning of a hold and now.
    private mutating func close(_ key: HoldKey, at end: Int64) {
        guard let hold = holds[key], let row = hold.row, let kind = Shade.Kind(key.hold), !rows.isEmpty else { return }
        holds[key]?.row = nil
        holds[key]?.times = 0
        let first = min(max(row - 1, 0), rows.count - 1)
        let shaded = first...(rows.count - 1)
        let times = hold.times > 1 ? ", \(hold.times) times" : ""
        shades.append(
            Shade(
                lane: .network, kind: kind, rows: shaded,
                title: "\(key.hold.words) for \(ByteWords.short(end - hold.since))\(times)", depth: depth(from: first)))
    }

    /// How many shades of holds lie beside one that begins at a row and ends now: three at most.
    private func depth(from row: Int) -> Int {
        var depth = 0
        // They stand in the order of their ends.
        for shade in shades.reversed() {
            if depth == 3 || shade.rows.upperBound < row { break }
            if shade.lane == .network, shade.kind != .deciding { depth += 1 }
        }
        return depth
    }
}

extension TransferTrace.Lane {
    /// The lane's name above it in a picture.
    var title: String {
        switch self {
        case .caller: "your code"
        case .delegateQueue: "delegate queue"
        case .network: "network thread"
        case .files: "file worker"
        case .server: "server"
        }
    }
}

extension DiagramRows.Shade.Kind {
    fileprivate init?(_ hold: TransferTrace.Hold) {
        switch hold {
        case .suspended: self = .suspended
        case .full: self = .full
        case .deciding: self = .deciding
        case .decoding: return nil
        }
    }
}
