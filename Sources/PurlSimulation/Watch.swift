import Purl

/// What holds for every transfer, whatever happens, as the trace of its session shows it.
struct Watch {
    /// What a task was seen to do.
    private struct Seen {
        var queued: [TransferTrace.DelegateCall] = []
        var hasCompleted = false
        var hasResult = false
        var running: TransferTrace.DelegateMethod?
        var written: Int64 = 0
    }

    /// The broken rules, in words; none where all is well.
    static func brokenRules(in events: [TransferTrace.Event]) -> [String] {
        var watch = Watch()
        for event in events {
            guard let task = event.task else { continue }
            watch.see(event, of: task)
        }
        return watch.broken
    }

    private var tasks: [Int: Seen] = [:]
    private var broken: [String] = []

    private mutating func see(_ event: TransferTrace.Event, of task: Int) {
        var seen = tasks[task] ?? Seen()
        defer { tasks[task] = seen }
        switch event.kind {
        case .requestHead: seen.written = 0
        case .queued(let call): seen.queued.append(call)
        case .began(let call): begin(call, task, &seen)
        case .ended: seen.running = nil
        default: break
        }
    }

    private mutating func begin(_ call: TransferTrace.DelegateCall, _ task: Int, _ seen: inout Seen) {
        let name = "task \(task): \(call.method.rawValue)"
        if let running = seen.running { broken.append("\(name) is called within \(running.rawValue)") }
        seen.running = call.method
        if let place = seen.queued.firstIndex(where: { $0.number == call.number }) {
            // The last calls are one operation, whose metrics come after the file.
            let overtaken = seen.queued[..<place].first { $0.method != .didFinishCollecting }
            if let overtaken { broken.append("\(name) is called before \(overtaken.method.rawValue)") }
            seen.queued.remove(at: place)
        } else {
            broken.append("\(name) was not queued")
        }
        if case .progress(_, let total, _) = call.arguments {
            if total < seen.written { broken.append("\(name): the progress falls from \(seen.written) to \(total)") }
            seen.written = total
        }
        switch call.method {
        case .didComplete:
            if seen.hasCompleted { broken.append("\(name) is called twice") }
            seen.hasCompleted = true
        case .completionHandler, .continuation:
            if seen.hasResult { broken.append("\(name) is called twice") }
            seen.hasResult = true
        case .resumeDataHandler: break
        default:
            if seen.hasCompleted { broken.append("\(name) is called after didComplete") }
        }
    }
}
