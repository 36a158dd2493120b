import Foundation
internal import Purl
import PurlTesting

/// The body of a task's response: how much of it waits between the socket and its consumer, and of which version it is.
struct WatchedBody {
    /// Who takes the bytes.
    private enum Consumer {
        /// None that can be seen: a handler, which takes the whole body, or a sequence of bytes.
        case unseen
        case delegate
        case file
    }

    /// What the program has asked for.
    private enum Wanted {
        /// Nothing yet.
        case unknown
        case whole
        /// A range, which begins there as the server has said.
        case range(from: Int?)
    }

    /// What one read of a socket and one step of a decoder may add when the limit has almost been reached.
    private static let portion = 256 << 10

    /// How many bytes may wait; `nil` where that is not known.
    var limit: Int?
    private var consumer = Consumer.unseen
    private var waiting = 0
    private var isCoded = false
    /// Whether the next response has what follows in the same body.
    private var continues = false
    /// The bytes of the call that is running.
    private var called = 0

    /// Where the body begins in the resource; `nil` where that is not known, or its bytes are not those of the resource.
    private var start: Int?
    private var wanted = Wanted.unknown
    /// Whether the bytes are none of the server's resource: those of a protocol of the program's, or several ranges with their
    /// heads.
    private var isOther = false
    /// How many bytes were delivered.
    private var delivered = 0
    /// The versions that agree with what was delivered; `nil` before.
    private var agreeing: [GeneratedContent]?

    /// Counts what an event says of the body.
    ///
    /// - Returns: What is wrong, in words.
    mutating func see(_ kind: TransferTrace.Kind) -> String? {
        switch kind {
        case .retry(.nextPart): continues = true
        case .requestHead(let head):
            if !continues { (waiting, start) = (0, nil) }
            if case .unknown = wanted { wanted = Self.hasRangeOfItsOwn(head) ? .range(from: nil) : .whole }
        case .responseHead(let head): begin(head)
        case .cache(.hit), .cache(.confirmed), .cache(.replacesFailure): begin(at: 0)
        case .localResponse:
            begin(at: nil)
            isOther = true
        case .bodyReceived(let piece): if !isCoded { return add(piece.count) }
        case .decoded(let piece): return add(piece.count)
        case .storing(let offset):
            // What the file has already is compared, not written.
            (consumer, waiting) = (.file, min(0, (start ?? 0) - Int(clamping: offset)))
        case .written(let count): if consumer == .file { waiting -= count }
        case .queued(let call): if call.method == .didReceiveData { consumer = .delegate }
        case .began(let call): begin(call)
        case .ended(let call):
            if call.method == .didReceiveData { (waiting, called) = (max(0, waiting - called), 0) }
        default: break
        }
        return nil
    }

    private mutating func begin(_ head: TransferTrace.ResponseHead) {
        isOther = head.status == 206 && Self.value("content-type", of: head)?.hasPrefix("multipart/") == true
        let coding = Self.value("content-encoding", of: head)
        isCoded = coding != nil
        guard !continues else {
            continues = false
            return
        }
        switch head.status {
        case 200: begin(at: isCoded ? nil : 0)
        case 206:
            begin(at: isCoded ? nil : Self.start(of: head))
            if case .range(from: nil) = wanted { wanted = .range(from: start) }
        default: begin(at: nil)
        }
    }

    private mutating func begin(at start: Int?) {
        (self.start, delivered, agreeing) = (start, 0, nil)
    }

    private mutating func begin(_ call: TransferTrace.DelegateCall) {
        switch call.method {
        case .didReceiveData: if case .bytes(let count) = call.arguments { called = count }
        // These receive all of it.
        case .completionHandler, .continuation: (delivered, agreeing) = (0, nil)
        default: break
        }
    }

    /// Where the range of a 206 begins.
    private static func start(of head: TransferTrace.ResponseHead) -> Int? {
        value("content-range", of: head)
            .flatMap { $0.split(whereSeparator: { $0 == " " || $0 == "-" }).dropFirst().first }
            .flatMap { Int($0) }
    }

    private static func value(_ name: String, of head: TransferTrace.ResponseHead) -> String? {
        head.fields.first { $0.name.lowercased() == name }?.value
    }

    /// Whether a request's range is the program's: one that continues a file has a condition.
    private static func hasRangeOfItsOwn(_ head: TransferTrace.RequestHead) -> Bool {
        let names = Set(head.fields.map { $0.name.lowercased() })
        return names.contains("range") && !names.contains("if-range")
    }

    /// Whether a file that is complete has what the task has asked for, of one version.
    func isFile(_ content: Data, of versions: [GeneratedContent]) -> Bool {
        if isOther || versions.contains(where: { $0.matches(content) }) { return true }
        guard case .range(from: let start?) = wanted else { return false }
        return versions.contains { $0.matches(content, at: start) }
    }

    private mutating func add(_ count: Int) -> String? {
        waiting += count
        guard let limit, consumer != .unseen, waiting > limit + Self.portion else { return nil }
        return "\(waiting) bytes wait for its \(consumer == .file ? "file" : "delegate"), and \(limit) may"
    }

    /// Compares what is delivered with the versions that agree with all before it. False where none is left.
    mutating func takes(_ content: Data, of versions: [GeneratedContent]) -> Bool {
        guard let start else { return true }
        let place = start + delivered
        delivered += content.count
        let left = (agreeing ?? versions).filter { $0.matches(content, at: place) }
        agreeing = left
        return !left.isEmpty
    }
}
