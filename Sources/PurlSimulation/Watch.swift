import Foundation
internal import Purl
import PurlTesting

/// What holds for every transfer, whatever happens, as the events of its session's trace show it while they are recorded.
struct Watch {
    /// What a task was seen to do.
    private struct Seen {
        var queued: [TransferTrace.DelegateCall] = []
        var hasBegun = false
        var isCompleted = false
        var hasCompleted = false
        var hasResult = false
        var running: TransferTrace.DelegateMethod?
        var written: Int64 = 0
        /// The URL of the latest request.
        var url = ""
        /// The credentials that were sent, with the origin that they were sent to first.
        var credentials: [String: String] = [:]
        /// The origins that have asked for credentials.
        var asking: Set<String> = []
        weak var file: SimulatedFile?
    }

    /// The broken rules, in words; none where all is well.
    static func brokenRules(in events: [TransferTrace.Event]) -> [String] {
        var watch = Watch()
        for event in events {
            guard let task = event.task else { continue }
            watch.see(event.kind, of: task)
        }
        return watch.broken
    }

    private var tasks: [Int: Seen] = [:]
    private var broken: [String] = []

    /// Whether every task that was resumed has completed, and all its calls have returned.
    var isQuiet: Bool {
        tasks.values.allSatisfy { !$0.hasBegun || $0.isCompleted && $0.queued.isEmpty && $0.running == nil }
    }

    /// The rules that were broken since it was last asked.
    mutating func takeBroken() -> [String] {
        defer { broken = [] }
        return broken
    }

    mutating func see(_ kind: TransferTrace.Kind, of task: Int) {
        var seen = tasks[task] ?? Seen()
        defer { tasks[task] = seen }
        switch kind {
        case .call(.resume): seen.hasBegun = true
        case .completed, .replaced: seen.isCompleted = true
        case .requestHead(let head):
            seen.written = 0
            seen.url = head.url
            checkCredentials(head, task, &seen)
        case .responseHead(let head):
            if head.status == 401, let origin = Self.origin(of: seen.url) { seen.asking.insert(origin) }
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

    // MARK: Credentials

    /// Credentials that one origin was sent go to no other, unless that has asked for some itself.
    private mutating func checkCredentials(_ head: TransferTrace.RequestHead, _ task: Int, _ seen: inout Seen) {
        guard let origin = Self.origin(of: head.url) else { return }
        for field in head.fields where field.name.lowercased() == "authorization" {
            guard let first = seen.credentials[field.value] else {
                seen.credentials[field.value] = origin
                continue
            }
            if first != origin, !seen.asking.contains(origin) {
                broken.append("task \(task): the credentials for \(first) are sent to \(origin)")
            }
        }
    }

    private static func origin(of url: String) -> String? {
        guard let parts = URLComponents(string: url), let scheme = parts.scheme?.lowercased(), let host = parts.host
        else { return nil }
        let usual = scheme == "https" || scheme == "wss" ? 443 : 80
        return "\(scheme)://\(host.lowercased()):\(parts.port ?? usual)"
    }

    // MARK: Content

    /// A file to which a task has written.
    mutating func setFile(_ file: SimulatedFile?, of task: Int) {
        tasks[task]?.file = file
    }

    /// A file that is complete has bytes of one version alone; one that several connections fill is not yet.
    ///
    /// - Parameter versions: Finds all versions that the server of a URL has had; `nil` where they are not known.
    mutating func checkContent(of task: Int, _ versions: (_ url: String) -> [GeneratedContent]?) {
        guard let seen = tasks[task], let content = seen.file?.content, let versions = versions(seen.url),
            !versions.contains(where: { RangeJournal.isBehind(Int64($0.size), in: content) || $0.matches(content) })
        else { return }
        broken.append("task \(task): its file of \(content.count) bytes is none of the versions of \(seen.url)")
    }
}
