import Foundation
internal import Purl
import PurlTesting

/// What holds for every transfer, whatever happens, as the events of its session's trace show it while they are recorded.
struct Watch {
    /// What a task was seen to do.
    private struct Seen {
        enum State {
            case made
            case running
            case suspended
            case completed
        }

        var state = State.made
        var queued: [TransferTrace.DelegateCall] = []
        var isCancelled = false
        var hasCompleted = false
        var hasResult = false
        var running: TransferTrace.DelegateMethod?
        /// How far the calls of each kind have said that the task is.
        var progress: [TransferTrace.DelegateMethod: Int64] = [:]
        /// The URL of the latest request.
        var url = ""
        /// Bytes of several servers come together in its file, and a digest tells whether they are one version's.
        var isCheckedByDigest = false
        /// The credentials that were sent, with the origin that they were sent to first.
        var credentials: [String: String] = [:]
        /// The origins that have asked for credentials.
        var asking: Set<String> = []
        weak var file: SimulatedFile?
        var body = WatchedBody()
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
        tasks.values.allSatisfy { seen in
            switch seen.state {
            case .made: true
            case .running, .suspended: false
            case .completed: seen.queued.isEmpty && seen.running == nil
            }
        }
    }

    /// The tasks that neither have completed nor are suspended, in words.
    var runningTasks: [String] {
        tasks.sorted { $0.key < $1.key }.filter { $0.value.state == .running }
            .map { "task \($0.key) at \($0.value.url) has not ended" }
    }

    /// The rules that were broken since it was last asked.
    mutating func takeBroken() -> [String] {
        defer { broken = [] }
        return broken
    }

    mutating func see(_ kind: TransferTrace.Kind, of task: Int) {
        var seen = tasks[task] ?? Seen()
        defer { tasks[task] = seen }
        if let excess = seen.body.see(kind) { broken.append("task \(task): \(excess)") }
        switch kind {
        case .made(_, let url):
            seen.url = url
            // As PurlDownloads marks such a task.
            seen.isCheckedByDigest = URL(string: url)?.fragment?.contains("sha256=") == true
        case .redirect(let url): seen.url = url
        // The program may call what it does not know to have completed.
        case .call(.resume) where seen.state != .completed: seen.state = .running
        case .call(.suspend) where seen.state != .completed: seen.state = .suspended
        case .call(.cancel), .message(.cancel): seen.isCancelled = true
        case .completed, .replaced: seen.state = .completed
        case .requestHead(let head):
            seen.progress = [:]
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
            // The last calls are one operation, whose metrics come after the file. The delegate does not receive the data and
            // the file of a task that was cancelled when all had been queued.
            // The result of an `async` method does not wait in the delegate's queue.
            let earlier = call.method == .continuation ? [] : seen.queued[..<place]
            let overtaken = earlier.first {
                switch $0.method {
                case .didFinishCollecting: false
                case .didReceiveData: !seen.isCancelled
                case .didFinishDownloading: !call.isFailure
                default: true
                }
            }
            if let overtaken { broken.append("\(name) is called before \(overtaken.method.rawValue)") }
            seen.queued.remove(at: place)
        } else {
            broken.append("\(name) was not queued")
        }
        // The file begins anew, or continues there. Calls about what came before may begin after the request's head.
        if case .position(let offset, _) = call.arguments { seen.progress[.didWriteData] = offset }
        if case .progress(_, let total, _) = call.arguments {
            let before = seen.progress[call.method] ?? 0
            if total < before { broken.append("\(name): the progress falls from \(before) to \(total)") }
            seen.progress[call.method] = total
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

    /// Finds all versions that the server of a URL has had; `nil` where they are not known.
    typealias Versions = (_ url: String) -> [GeneratedContent]?

    /// A file that is complete has bytes of one version alone; one that several connections fill is not yet.
    mutating func checkContent(of task: Int, _ versions: Versions) {
        guard let seen = tasks[task], !seen.isCheckedByDigest, let content = seen.file?.content,
            versions(seen.url)?.contains(where: { RangeJournal.isBehind(Int64($0.size), in: content) }) != true
        else { return }
        check(content, of: task, versions)
    }

    /// A file that several connections have filled is complete.
    mutating func checkContent(ofJoined file: SimulatedFile, _ versions: Versions) {
        guard let content = file.content else { return }
        for (task, seen) in tasks.sorted(by: { $0.key < $1.key }) where seen.file === file && !seen.isCheckedByDigest {
            check(content, of: task, versions)
        }
    }

    /// Checks a file that is complete.
    mutating func check(_ content: Data, of task: Int, _ versions: Versions) {
        guard let seen = tasks[task], let versions = versions(seen.url), !seen.body.isFile(content, of: versions)
        else { return }
        let url = seen.url
        broken.append("task \(task): its file of \(content.count) bytes is none of the versions of \(url)")
    }

    /// What a delegate, a handler or a caller receives of a body has bytes of one version alone.
    mutating func checkDelivery(_ content: Data, of task: Int, _ versions: Versions) {
        guard let url = tasks[task]?.url, let versions = versions(url),
            tasks[task]?.body.takes(content, of: versions) == false
        else { return }
        broken.append("task \(task): what it delivers is of none of the versions of \(url)")
    }

    // MARK: Memory

    /// How many bytes of a body may wait for their consumer.
    mutating func setBufferLimit(_ bytes: Int, of task: Int) {
        tasks[task, default: Seen()].body.limit = bytes
    }
}

extension TransferTrace.DelegateCall {
    /// Whether it is called with an error.
    fileprivate var isFailure: Bool {
        if case .failure = arguments { true } else { false }
    }
}
