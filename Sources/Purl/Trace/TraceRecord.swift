import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// What has happened, as it is recorded: a few values, or an object that the entry has. It becomes a ``TransferTrace/Kind``
/// when a program reads the trace; until then no sentence is made and nothing is looked up.
enum TraceRecord: Sendable {
    case call(TransferTrace.TaskCall)
    case message(TransferTrace.TaskCall)
    case answer(TransferTrace.DelegateMethod)
    case requestEnd
    case bodySent(count: Int, wireCount: Int)
    case bodyReceived(count: Int, wireCount: Int)
    case decoded(count: Int)
    case frameSent(TransferTrace.WebSocketFrame.Form, count: Int)
    case frameReceived(TransferTrace.WebSocketFrame.Form, count: Int)
    case streamSent(Int)
    case streamReceived(Int)
    case responseEnd(connectionStays: Bool)
    case localResponse
    case held(TransferTrace.Hold)
    case released(TransferTrace.Hold)
    case cache(TransferTrace.CacheStep)
    case storing(offset: Int64)
    case written(Int)
    case file(TransferTrace.FileStep)
    case queued(Int, TransferTrace.DelegateMethod)
    case began(Int, TransferTrace.DelegateMethod, TransferTrace.Arguments?)
    case ended(Int, TransferTrace.DelegateMethod)
    case completed
    /// The entry's object knows.
    case object

    /// Whether there may be thousands of it in one transfer.
    var isDetail: Bool {
        switch self {
        case .bodySent, .bodyReceived, .decoded, .frameSent, .frameReceived, .streamSent, .streamReceived, .held,
            .released, .written, .file(.write):
            true
        case .queued(_, let method), .began(_, let method, _), .ended(_, let method): method.isDetail
        default: false
        }
    }

    /// How many bytes its texts take.
    var textSize: Int {
        if case .began(_, _, let arguments?) = self { arguments.textSize } else { 0 }
    }

    /// The event's kind; `nil` for an object's.
    var kind: TransferTrace.Kind? {
        switch self {
        case .call(let call): .call(call)
        case .message(let call): .message(call)
        case .answer(let method): .answer(method)
        case .requestEnd: .requestEnd
        case .bodySent(let count, let wire): .bodySent(TransferTrace.Piece(count: count, wireCount: wire))
        case .bodyReceived(let count, let wire): .bodyReceived(TransferTrace.Piece(count: count, wireCount: wire))
        case .decoded(let count): .decoded(TransferTrace.Piece(count: count))
        case .frameSent(let form, let count): .frameSent(TransferTrace.WebSocketFrame(form: form, count: count))
        case .frameReceived(let form, let count):
            .frameReceived(TransferTrace.WebSocketFrame(form: form, count: count))
        case .streamSent(let count): .streamSent(count)
        case .streamReceived(let count): .streamReceived(count)
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
            .began(TransferTrace.DelegateCall(number: number, method: method, arguments: arguments))
        case .ended(let number, let method): .ended(TransferTrace.DelegateCall(number: number, method: method))
        case .completed: .completed(error: nil)
        case .object: nil
        }
    }
}

/// What has happened, where it takes more than numbers to say it.
protocol TracedObject: AnyObject, Sendable {
    var isDetail: Bool { get }

    /// About how many bytes its texts take.
    var textSize: Int { get }

    /// The event's kind, without the values of secret fields unless they are asked for.
    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind
}

extension TracedObject {
    var isDetail: Bool { false }
}

/// An event that is made when it is recorded.
final class EagerEvent: TracedObject {
    private let kind: TransferTrace.Kind

    init(_ kind: TransferTrace.Kind) {
        self.kind = kind
    }

    var textSize: Int { kind.textSize }

    var isDetail: Bool {
        switch kind {
        case .bodySent, .bodyReceived, .decoded, .frameSent, .frameReceived: true
        default: false
        }
    }

    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind { kind }
}

/// A task is made.
final class MadeTask: TracedObject {
    private let method: String
    private let url: URL?

    init(_ request: URLRequest?) {
        method = request?.httpMethod ?? "GET"
        url = request?.url
    }

    var textSize: Int { method.utf8.count + url.textSize }

    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind {
        .made(method: method, url: url?.absoluteString ?? "")
    }
}

/// The head of a request, with its URL.
final class SentHead: TracedObject {
    let head: RequestHead
    private let url: URL?
    private let byteCount: Int

    init(_ head: RequestHead, to url: URL?, byteCount: Int) {
        self.url = url
        self.head = head
        self.byteCount = byteCount
    }

    var textSize: Int { head.fields.memorySize + head.target.utf8.count + url.textSize }

    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind {
        .requestHead(
            TransferTrace.RequestHead(
                url: url?.absoluteString ?? "", method: head.method.name, target: head.target,
                stored: TracedFields(head.fields, keepingSecrets: keepsSecrets), byteCount: byteCount))
    }
}

/// The head of a response.
final class ReceivedHead: TracedObject {
    private let head: ResponseHead
    private let byteCount: Int

    init(_ head: ResponseHead, byteCount: Int) {
        self.head = head
        self.byteCount = byteCount
    }

    /// There may be a hundred interim responses to each request.
    var isDetail: Bool { head.isInterim }

    var textSize: Int { head.fields.memorySize + head.reason.utf8.count }

    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind {
        let traced = TransferTrace.ResponseHead(
            status: head.status, reason: head.reason, stored: TracedFields(head.fields, keepingSecrets: keepsSecrets),
            byteCount: byteCount)
        return head.isInterim ? .interimHead(traced) : .responseHead(traced)
    }
}

extension TransferTrace.DelegateMethod {
    /// Whether it may be called thousands of times in one transfer.
    fileprivate var isDetail: Bool {
        switch self {
        case .didReceiveData, .didSendBodyData, .didWriteData, .didReceiveInformationalResponse: true
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

extension ConnectionFacts: TracedObject {
    /// Two addresses, which are short.
    var textSize: Int { 0 }

    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind {
        .connected(
            TransferTrace.Connection(
                local: local.map(TransferTrace.Address.init), remote: remote.map(TransferTrace.Address.init),
                isReused: isReused, isProxied: isProxied,
                lookUp: duration(dialTimes?.lookupStart, dialTimes?.lookupEnd),
                connect: duration(dialTimes?.connectStart, dialTimes?.connectEnd)))
    }

    private func duration(_ start: MonotonicTime?, _ end: MonotonicTime?) -> Int64? {
        guard let start, let end else { return nil }
        return isTimed ? max(0, end.nanoseconds - start.nanoseconds) : 0
    }
}

extension TransferTrace.Address {
    fileprivate init(_ address: SocketAddress) {
        if let host = address.host, let port = address.port {
            self = .network(host: host, bytes: address.bytes, port: port)
        } else {
            self = .path(address.description)
        }
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
    var object: (any TracedObject)?

    var isDetail: Bool { object?.isDetail ?? record.isDetail }

    /// About how many bytes its texts take, besides the entry itself.
    var textSize: Int { object?.textSize ?? record.textSize }

    /// The event's kind, without secrets unless they are asked for.
    func kind(keepingSecrets keepsSecrets: Bool) -> TransferTrace.Kind {
        let kind = object?.kind(keepingSecrets: keepsSecrets) ?? record.kind ?? .note("")
        return keepsSecrets ? kind : kind.withoutUsers
    }

    func within(_ lane: TransferTrace.Lane) -> TraceEntry {
        var entry = self
        entry.lane = lane
        return entry
    }
}

/// Names what is caused on another lane.
enum TraceToken: Hashable, Sendable {
    case call(task: Int, TransferTrace.TaskCall)
    /// The transfer begins, or continues.
    case resumed(task: Int)
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
    /// What may have caused it on another lane, the likeliest first.
    var causes: [TraceToken] {
        let task = task ?? 0
        return switch record {
        case .message(let call): [.call(task: task, call)]
        case .answer(let method): [.answer(task: task, method)]
        case .began(let number, _, _): [.delegateCall(number)]
        case .written: [.written(task: task)]
        case .file(.truncate), .file(.record): [.storing(task: task), .resumed(task: task)]
        case .file(.write): [.bytes(task: task)]
        // A file that is complete already is closed without a response.
        case .file(.complete), .file(.stop): [.ending(task: task), .resumed(task: task)]
        default: []
        }
    }

    /// What it causes on another lane.
    var effect: TraceToken? {
        let task = task ?? 0
        return switch record {
        case .call(let call): .call(task: task, call)
        case .message(.resume): .resumed(task: task)
        case .queued(let number, _): .delegateCall(number)
        case .began(_, let method, _): method.isQuestion ? .answer(task: task, method) : nil
        case .storing: .storing(task: task)
        case .bodyReceived: .bytes(task: task)
        case .responseEnd: .ending(task: task)
        case .file(.write): .written(task: task)
        case .object:
            switch object?.kind(keepingSecrets: false) {
            case .exchangeFailed, .abandoned: .ending(task: task)
            case .bodyReceived: .bytes(task: task)
            default: nil
            }
        default: nil
        }
    }
}

extension URL? {
    /// How many bytes its text has.
    var textSize: Int { self?.absoluteString.utf8.count ?? 0 }
}
