import Foundation
import Purl

extension TransferTrace.Lane {
    /// The lane's name in texts and patterns.
    public var name: String {
        switch self {
        case .caller: "code"
        case .delegateQueue: "delegate"
        case .network: "network"
        case .files: "files"
        case .server: "server"
        }
    }
}

extension TransferTrace.Kind {
    /// What has happened, in a few words.
    public var words: String {
        switch self {
        // Stream tasks have no request.
        case .made(let method, let url): url.isEmpty ? "made without a request" : "made \(method) \(url)"
        case .call(let call): "\(call.words)"
        case .message(let call): "\(call.words) arrives"
        case .answer(let method): "answer to \(method.rawValue)"
        case .waiting(let host): "needs a connection to \(host)"
        case .dialling(let host): "dials \(host)"
        case .lookUp(let host): "looks up \(host)"
        case .resolved(let addresses):
            addresses.isEmpty ? "finds no address" : "finds \(addresses.joined(separator: ", "))"
        case .handshake(let host): "begins TLS with \(host)"
        case .secured(let security): "secured by \(security.words)"
        case .handshakeFailed(let reason): "TLS fails: \(reason)"
        case .connected(let connection): connection.words
        case .dialFailed(let reason): "cannot connect: \(reason)"
        case .requestHead(let head): head.words
        case .requestEnd: "request sent"
        case .interimHead(let head), .responseHead(let head): head.words
        case .bodySent(let piece): "sends \(ByteWords.count(piece.count))"
        case .bodyReceived(let piece): "receives \(ByteWords.count(piece.count))"
        case .frameSent(let frame): "sends \(frame.words)"
        case .frameReceived(let frame): "receives \(frame.words)"
        case .streamSent(let count): "sends \(ByteWords.count(count)) of the stream"
        case .streamReceived(let count): "receives \(ByteWords.count(count)) of the stream"
        case .decoded(let piece): "decodes \(ByteWords.count(piece.count))"
        case .responseEnd(let stays): stays ? "response complete" : "response complete, connection closed"
        case .switched(let status): "receives \(status), the connection changes its protocol"
        case .exchangeFailed(let reason): "exchange fails: \(reason)"
        case .abandoned: "gives up the response"
        case .localResponse: "responds without a connection"
        case .held(let hold): "stops reading: \(hold.words)"
        case .released(let hold): "no longer held: \(hold.words)"
        case .cache(let step): "cache: \(step.words)"
        case .cookiesSent(let names): "sends cookies: \(names.joined(separator: ", "))"
        case .cookiesReceived(let names): "receives cookies: \(names.joined(separator: ", "))"
        case .redirect(let url): "follows the redirect to \(url)"
        case .challenge(let schemes, let isProxy):
            "challenged by the \(isProxy ? "proxy" : "server"): \(schemes.joined(separator: ", "))"
        case .credentials(let isProxy): "has credentials for the \(isProxy ? "proxy" : "server")"
        case .retry(let reason): "sends again: \(reason.words)"
        case .redial: "will dial again"
        case .storing(let offset): "stores from byte \(offset)"
        case .written(let count): "\(ByteWords.count(count)) are written"
        case .file(let step): step.words
        case .queued(let call): "queues \(call.method.rawValue)"
        case .began(let call): "begins \(call.method.rawValue)" + (call.arguments.map { " (\($0.words))" } ?? "")
        case .ended(let call): "ends \(call.method.rawValue)"
        case .replaced(let task): "becomes task \(task)"
        case .completed(let error): error.map { "completes with an error: \($0)" } ?? "completes"
        case .note(let text): text
        case .unknown(let name): "unknown event “\(name)”"
        }
    }
}

extension TransferTrace.Arguments {
    /// The arguments in a few words: `1,000 bytes, 2,000 of 3,000`.
    public var words: String {
        switch self {
        case .bytes(let count): Self.bytes(Int64(count))
        case .progress(let bytes, _, _): "\(Self.bytes(bytes)), \(shortWords)"
        case .position(let offset, let expected): "at \(Self.number(offset)) of \(Self.total(expected))"
        case .offset(let offset): "from \(Self.number(offset))"
        case .response(let status?, _, _) where status < 200: shortWords
        case .response(_, _, let expected):
            shortWords + (expected < 0 ? ", length unknown" : ", \(Self.bytes(expected)) expected")
        case .caching(_, _, let bytes): "\(shortWords), \(Self.bytes(Int64(bytes)))"
        case .redirect(let status, let url): "\(status), to \(url)"
        case .request(let url): url
        case .challenge(let scheme, let realm, let failures):
            scheme + (realm.map { ", realm \"\($0)\"" } ?? "") + ", failed \(failures) time\(failures == 1 ? "" : "s")"
        case .serverTrust(let host): "\(shortWords), \(host)"
        case .metrics(let requests): requests == 1 ? "1 request" : "\(requests) requests"
        case .task(let identifier): "task \(identifier)"
        // Its length depends on the machine.
        case .resumeData(let isThere): isThere ? "data" : "nil"
        case .opened(let subprotocol): subprotocol ?? "no protocol"
        case .closed(let code, let reason): reason.isEmpty ? "\(code)" : "\(code), \"\(reason)\""
        case .success(let bytes): "no error" + (bytes.map { ", \(Self.bytes(Int64($0)))" } ?? "")
        case .failure(let code, let sentence):
            sentence.count > Self.maximumSentence ? code : "\(code): \(sentence)"
        }
    }

    /// The arguments for a narrow place: without the number of bytes that a report of progress is about, and without a
    /// second part that makes them long.
    var shortWords: String {
        switch self {
        case .progress(_, let total, let expected): "\(Self.number(total)) of \(Self.total(expected))"
        case .response(let status, let type, _), .caching(let status, let type, _):
            status.map { "\($0) \(HTTPURLResponse.localizedString(forStatusCode: $0))" } ?? type ?? "no type"
        case .challenge(let scheme, _, _): scheme
        case .serverTrust: "ServerTrust"
        case .bytes, .position, .offset, .redirect, .request, .metrics, .task, .resumeData, .opened, .closed, .success,
            .failure:
            words
        }
    }

    /// Progress in units, where it is long in bytes: `25.1 MB of 67.1 MB`; `nil` for all else.
    var shortProgress: String? {
        switch self {
        case .progress(_, let done, let expected), .position(let done, let expected):
            ByteWords.count(Int(done)) + (expected < 0 ? "" : " of \(ByteWords.count(Int(expected)))")
        default: nil
        }
    }

    /// The longest sentence that is shown with a code.
    private static let maximumSentence = 80

    /// `1,000`: the same in every locale.
    private static func number(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = number < 0 ? "-" : ""
        for (position, digit) in digits.enumerated() {
            if position > 0, (digits.count - position).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    private static func bytes(_ count: Int64) -> String { count == 1 ? "1 byte" : "\(number(count)) bytes" }

    private static func total(_ count: Int64) -> String { count < 0 ? "an unknown number" : number(count) }
}

extension TransferTrace.TaskCall {
    /// The call as it is written.
    public var words: String {
        switch self {
        case .resume: "resume()"
        case .suspend: "suspend()"
        case .cancel: "cancel()"
        case .cancelByProducingResumeData: "cancel(byProducingResumeData:)"
        case .cancelWithReason: "cancel(with:reason:)"
        }
    }
}

extension TransferTrace.Connection {
    var words: String {
        let name = remote?.description ?? "the server"
        return (isReused ? "reuses the connection to " : "connected to ") + (isProxied ? "the proxy " : "") + name
    }
}

extension TransferTrace.Security {
    var words: String {
        [version, cipherSuite, applicationProtocol, isResumed ? "resumed" : nil].compactMap { $0 }
            .joined(separator: ", ")
    }
}

extension TransferTrace.WebSocketFrame {
    var words: String {
        switch form {
        case .text: "a text message, \(ByteWords.count(count))"
        case .binary: "a binary message, \(ByteWords.count(count))"
        case .ping: "a ping"
        case .pong: "a pong"
        case .close: "a close frame" + (closeCode.map { ", \($0)" } ?? "")
        }
    }

    /// Words for several messages.
    func words(_ count: Int, bytes: Int) -> String {
        count == 1 ? words : "\(count) \(form.rawValue) messages, \(ByteWords.count(bytes))"
    }
}

extension TransferTrace.RequestHead {
    var words: String {
        let range = value(of: "Range").map { ", \($0)" } ?? ""
        return "sends \(method) \(target)\(range)"
    }

    /// The value of a field, by its name in any case.
    func value(of name: String) -> String? { fields.value(of: name) }
}

extension TransferTrace.ResponseHead {
    var words: String { "receives \(status)" + (reason.isEmpty ? "" : " \(reason)") }

    /// The value of a field, by its name in any case.
    func value(of name: String) -> String? { fields.value(of: name) }
}

extension [TransferTrace.Field] {
    func value(of name: String) -> String? {
        first { $0.name.lowercased() == name.lowercased() }?.value
    }

    func values(of name: String) -> [String] {
        filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }
}

extension TransferTrace.Hold {
    var words: String {
        switch self {
        case .suspended: "suspended"
        case .deciding: "the delegate decides"
        case .full: "full"
        case .decoding: "still decoding"
        }
    }
}

extension TransferTrace.CacheStep {
    var words: String {
        switch self {
        case .miss: "nothing to use"
        case .hit: "has the response"
        case .validate: "asks the server about what is stored"
        case .refuse: "has nothing, and nothing else is allowed"
        case .confirmed: "the server has confirmed what is stored"
        case .replacesFailure: "what is stored replaces a failure"
        case .store: "may store the response"
        }
    }
}

extension TransferTrace.RetryReason {
    var words: String {
        switch self {
        case .idleConnectionClosed: "the idle connection was closed"
        case .expectationFailed: "without its expectation"
        case .wholeResource: "all of the resource"
        case .restOfSameVersion: "the rest, if it is of the same version"
        case .nextPart: "what follows the part"
        case .timedOut: "it has timed out"
        }
    }
}

extension TransferTrace.FileStep {
    var words: String {
        switch self {
        case .create: "creates the file"
        case .write(let count): "writes \(ByteWords.count(count))"
        case .sync: "synced"
        case .truncate: "empties the file"
        case .record: "records how to resume"
        case .complete: "the file is complete"
        case .stop: "closes the file"
        }
    }
}

/// Numbers of bytes and times for people, the same everywhere.
enum ByteWords {
    /// `12 bytes`, `1.2 kB`, `56.6 MB`: with three digits at most, rounded down.
    static func count(_ count: Int) -> String {
        guard count >= 1000 else { return count == 1 ? "1 byte" : "\(count) bytes" }
        // Any number may come here: a server's announcement is one.
        var (size, unit) = (1000, "kB")
        for next in ["MB", "GB", "TB", "PB", "EB"] where count / size >= 1000 {
            size *= 1000
            unit = next
        }
        let tenths = count / (size / 10)
        return tenths >= 1000 ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }

    /// `0.125 ms`, `1250.000 ms`: with three digits after the point, so that columns align.
    static func milliseconds(_ nanoseconds: Int64) -> String {
        let microseconds = nanoseconds / 1000
        let fraction = String(1000 + microseconds % 1000).dropFirst()
        return "\(microseconds / 1000).\(fraction) ms"
    }

    /// A time in few characters: `0`, `0.12 ms`, `12 ms`, `1.25 s`, `60 s`.
    static func short(_ nanoseconds: Int64) -> String {
        let microseconds = nanoseconds / 1000
        if microseconds == 0 { return "0" }
        let (value, unit) = microseconds < 1_000_000 ? (microseconds, "ms") : (microseconds / 1000, "s")
        let whole = value / 1000
        if whole >= 100 { return "\(whole) \(unit)" }
        var digits = String(String(1000 + value % 1000).dropFirst().prefix(whole >= 10 ? 1 : 2))
        while digits.hasSuffix("0") { digits.removeLast() }
        return digits.isEmpty ? "\(whole) \(unit)" : "\(whole).\(digits) \(unit)"
    }
}
