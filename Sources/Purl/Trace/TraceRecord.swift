import Foundation
internal import PurlHTTP
internal import PurlIO

/// What has happened, as it is recorded: small values, and objects that exist anyway. It becomes a ``TransferTrace/Kind`` when
/// a program reads the trace; until then no text is made and nothing is looked up.
enum TraceRecord: Sendable {
    case made(method: String, URL?)
    case call(TransferTrace.TaskCall)
    case message(TransferTrace.TaskCall)
    case answer(TransferTrace.DelegateMethod)
    case connected(TracedLink, isReused: Bool)
    case requestHead(SentHead)
    case requestEnd
    case responseHead(ReceivedHead)
    case bodySent(count: Int, wireCount: Int, Data?)
    case bodyReceived(count: Int, wireCount: Int, Data?)
    case decoded(count: Int, Data?)
    case responseEnd(connectionStays: Bool)
    case localResponse
    case held(TransferTrace.Hold)
    case released(TransferTrace.Hold)
    case cache(TransferTrace.CacheStep)
    case storing(offset: Int64)
    case written(Int)
    case file(TransferTrace.FileStep)
    case queued(Int, TransferTrace.DelegateMethod)
    case began(Int, TransferTrace.DelegateMethod, TracedArguments)
    case ended(Int, TransferTrace.DelegateMethod)
    case completed((any Error)?)
    /// All that is rare.
    case boxed(KindBox)

    static func other(_ kind: TransferTrace.Kind) -> TraceRecord { .boxed(KindBox(kind)) }

    /// A kind in an object of its own, so that the others are small.
    final class KindBox: Sendable {
        let kind: TransferTrace.Kind

        init(_ kind: TransferTrace.Kind) {
            self.kind = kind
        }
    }

    /// The head of a request, with its URL.
    final class SentHead: Sendable {
        let url: URL?
        let head: RequestHead
        let byteCount: Int

        init(_ head: RequestHead, to url: URL?, byteCount: Int) {
            self.url = url
            self.head = head
            self.byteCount = byteCount
        }
    }

    /// The head of a response.
    final class ReceivedHead: Sendable {
        let head: ResponseHead
        let byteCount: Int

        init(_ head: ResponseHead, byteCount: Int) {
            self.head = head
            self.byteCount = byteCount
        }
    }

    /// Whether there may be thousands of it in one transfer.
    var isDetail: Bool {
        switch self {
        case .bodySent, .bodyReceived, .decoded, .held, .released, .written, .file(.write): true
        case .queued(_, let method), .began(_, let method, _), .ended(_, let method): method.isDetail
        default: false
        }
    }

    /// The event's kind, without secrets unless they are asked for.
    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind {
        switch self {
        case .made(let method, let url): .made(method: method, url: TracedFields.text(of: url, keepsSecrets))
        case .call(let call): .call(call)
        case .message(let call): .message(call)
        case .answer(let method): .answer(method)
        case .connected(let link, let isReused): .connected(link.connection(isReused: isReused))
        case .requestHead(let sent):
            .requestHead(
                TransferTrace.RequestHead(
                    url: TracedFields.text(of: sent.url, keepsSecrets), method: sent.head.method.name,
                    target: sent.head.target, stored: TracedFields(sent.head.fields, keepingSecrets: keepsSecrets),
                    byteCount: sent.byteCount))
        case .requestEnd: .requestEnd
        case .responseHead(let received):
            received.head.isInterim
                ? .interimHead(received.traced(keepsSecrets)) : .responseHead(received.traced(keepsSecrets))
        case .bodySent(let count, let wire, let content):
            .bodySent(TransferTrace.Piece(count: count, wireCount: wire, content: content))
        case .bodyReceived(let count, let wire, let content):
            .bodyReceived(TransferTrace.Piece(count: count, wireCount: wire, content: content))
        case .decoded(let count, let content): .decoded(TransferTrace.Piece(count: count, content: content))
        case .responseEnd(let stays): .responseEnd(connectionStays: stays)
        case .localResponse: .localResponse
        case .held(let hold): .held(hold)
        case .released(let hold): .released(hold)
        case .cache(let step): .cache(step)
        case .storing(let offset): .storing(offset: offset)
        case .written(let count): .written(count)
        case .file(let step): .file(step)
        case .queued(let number, let method): .queued(TransferTrace.DelegateCall(number: number, method: method))
        case .began(let number, let method, let arguments):
            .began(
                TransferTrace.DelegateCall(
                    number: number, method: method, arguments: arguments.text(keepingSecrets: keepsSecrets)))
        case .ended(let number, let method): .ended(TransferTrace.DelegateCall(number: number, method: method))
        case .completed(let error): .completed(error: error?.failureSentence)
        case .boxed(let box): box.kind
        }
    }
}

extension TraceRecord.ReceivedHead {
    fileprivate func traced(_ keepsSecrets: Bool) -> TransferTrace.ResponseHead {
        TransferTrace.ResponseHead(
            status: head.status, reason: head.reason, stored: TracedFields(head.fields, keepingSecrets: keepsSecrets),
            byteCount: byteCount)
    }
}

extension TransferTrace.DelegateMethod {
    /// Whether it may be called thousands of times in one transfer.
    fileprivate var isDetail: Bool {
        switch self {
        case .didReceiveData, .didSendBodyData, .didWriteData: true
        default: false
        }
    }

    /// Whether the network thread waits for an answer.
    fileprivate var isQuestion: Bool {
        switch self {
        case .willPerformHTTPRedirection, .didReceiveResponse, .didReceiveChallenge, .needNewBodyStream,
            .needNewBodyStreamFrom, .willBeginDelayedRequest:
            true
        default: false
        }
    }
}

/// A connection as traces show it. It lives as long as they do, not as long as the connection.
final class TracedLink: Sendable {
    private let local: SocketAddress?
    private let remote: SocketAddress?
    private let isProxied: Bool
    private let times: DialTimes?
    /// Whether a time is measured by the loop's clock, which is the session's: where it has another, dialling takes none.
    private let isTimed: Bool

    @NetworkActor
    init(_ connection: HTTPConnection) {
        (local, remote) = connection.ends
        isProxied = connection.leadsToProxy
        times = connection.dialTimes
        isTimed = connection.clock.custom == nil
    }

    func connection(isReused: Bool) -> TransferTrace.Connection {
        TransferTrace.Connection(
            local: local.map { "\($0)" } ?? "", remote: remote.map { "\($0)" } ?? "", isReused: isReused,
            isProxied: isProxied, lookUp: isReused ? nil : duration(times?.lookupStart, times?.lookupEnd),
            connect: isReused ? nil : duration(times?.connectStart, times?.connectEnd))
    }

    private func duration(_ start: MonotonicTime?, _ end: MonotonicTime?) -> Int64? {
        guard let start, let end else { return nil }
        return isTimed ? max(0, end.nanoseconds - start.nanoseconds) : 0
    }
}

/// An event as it is recorded.
struct TraceEntry: Sendable {
    let time: MonotonicTime
    var lane = TransferTrace.Lane.network
    /// The identifier of the task; `nil` for remarks.
    var task: Int?
    var exchange: Int?
    /// The number of the connection in the process.
    var connection: UInt64?
    let record: TraceRecord
}

/// Names what is caused on another lane.
enum TraceToken: Hashable, Sendable {
    case call(task: Int, TransferTrace.TaskCall)
    case delegateCall(Int)
    case answer(task: Int, TransferTrace.DelegateMethod)
    /// The storage of a body begins, to be emptied where it held another version.
    case storing(task: Int)
    /// Bytes of a body wait to be written.
    case bytes(task: Int)
    /// No more bytes follow.
    case ending(task: Int)
    /// Bytes have been written.
    case written(task: Int)
}

extension TraceEntry {
    /// What has caused it on another lane.
    var cause: TraceToken? {
        let task = task ?? 0
        return switch record {
        case .message(let call): .call(task: task, call)
        case .answer(let method): .answer(task: task, method)
        case .began(let number, _, _): .delegateCall(number)
        case .written: .written(task: task)
        case .file(.truncate): .storing(task: task)
        case .file(.write): .bytes(task: task)
        case .file(.complete), .file(.stop): .ending(task: task)
        default: nil
        }
    }

    /// What it causes on another lane.
    var effect: TraceToken? {
        let task = task ?? 0
        return switch record {
        case .call(let call): .call(task: task, call)
        case .queued(let number, _): .delegateCall(number)
        case .began(_, let method, _): method.isQuestion ? .answer(task: task, method) : nil
        case .storing: .storing(task: task)
        case .bodyReceived: .bytes(task: task)
        case .responseEnd: .ending(task: task)
        case .file(.write): .written(task: task)
        case .boxed(let box):
            switch box.kind {
            case .exchangeFailed, .abandoned: .ending(task: task)
            default: nil
            }
        default: nil
        }
    }
}
