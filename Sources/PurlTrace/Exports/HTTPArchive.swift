public import Foundation
public import Purl

/// A trace as an HTTP Archive (HAR 1.2), which the developer tools of browsers and many programs read.
///
/// There is an entry for each request that has been sent, with the times of its phases, heads, sizes and cookies, and with the
/// messages of a WebSocket (`_webSocketMessages`, as browsers write them). The content
/// of bodies is in it as far as the recorder has kept it (`TransferTrace.Options.maximumContent`); sizes are right in any
/// case. Values that the recorder has redacted stay redacted.
public struct HTTPArchive: Sendable, CustomStringConvertible {
    private let recording: TransferTrace.Recording

    /// The archive of a trace so far.
    public init(_ trace: TransferTrace) {
        self.init(trace.recording)
    }

    /// The archive of a recording.
    public init(_ recording: TransferTrace.Recording) {
        self.recording = recording.bounded
    }

    /// Its requests, a line each with its status: `GET http://127.0.0.1:8080/film 200`. The archive itself is ``data``.
    public var description: String {
        log.entries.map { entry in
            let status = entry.response.status == 0 ? entry.comment ?? "" : "\(entry.response.status)"
            return "\(entry.request.method) \(entry.request.url) \(status)"
        }.joined(separator: "\n")
    }

    /// The archive as JSON.
    public var data: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(Archive(log: log))
        }
    }

    private var log: Log {
        var comment: String?
        if recording.droppedEvents > 0 { comment = "\(recording.droppedEvents) events were not kept." }
        return Log(
            entries: TracedExchange.all(in: recording).map { Entry($0, since: recording.startDate) }, comment: comment)
    }
}

// The objects of the format, http://www.softwareishard.com/blog/har-12-spec/: names are those of the format.

private struct Archive: Encodable {
    let log: Log
}

private struct Log: Encodable {
    let version = "1.2"
    let creator = Creator()
    let entries: [Entry]
    let comment: String?
}

private struct Creator: Encodable {
    let name = "Purl"
    let version = "1.0"
}

private struct Entry: Encodable {
    let startedDateTime: String
    let time: Double
    let request: Request
    let response: Response
    let cache = Empty()
    let timings: Timings
    let serverIPAddress: String?
    let connection: String
    let comment: String?
    // As browsers write them.
    let _resourceType: String?
    let _webSocketMessages: [WebSocketMessage]?

    init(_ exchange: TracedExchange, since start: Date) {
        timings = Timings(exchange)
        time = timings.total
        let began = Double(min(exchange.waiting ?? exchange.start, exchange.start)) / 1e9
        startedDateTime = start.addingTimeInterval(began).formatted(
            Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        request = Request(exchange)
        response = Response(exchange)
        if case .network(let host, _, _)? = exchange.link?.remote {
            serverIPAddress = host
        } else {
            serverIPAddress = nil
        }
        connection = "\(exchange.connection)"
        let messages = exchange.frames.compactMap {
            WebSocketMessage($0.frame, isSent: $0.isSent, at: start, $0.nanoseconds)
        }
        switch exchange.ending {
        case .switched where !exchange.frames.isEmpty: (_resourceType, _webSocketMessages) = ("websocket", messages)
        default: (_resourceType, _webSocketMessages) = (nil, nil)
        }
        comment =
            switch exchange.ending {
            case .open: "The exchange had not ended."
            case .failed(let reason): reason
            case .abandoned: "The response was given up."
            case .complete, .switched: nil
            }
    }
}

private struct Empty: Encodable {}

/// A message of a WebSocket, as browsers write it: the time in seconds since 1970, and binary content in base64.
private struct WebSocketMessage: Encodable {
    let type: String
    let time: Double
    let opcode: Int
    let data: String

    /// `nil` for a control frame.
    init?(_ frame: TransferTrace.WebSocketFrame, isSent: Bool, at start: Date, _ nanoseconds: Int64) {
        let content = frame.content ?? Data()
        switch frame.form {
        case .text: (opcode, data) = (1, String(decoding: content, as: UTF8.self))
        case .binary: (opcode, data) = (2, content.base64EncodedString())
        case .ping, .pong, .close: return nil
        }
        type = isSent ? "send" : "receive"
        time = start.timeIntervalSince1970 + Double(nanoseconds) / 1e9
    }
}

/// Milliseconds; -1 for a phase that there was not.
private struct Timings: Encodable {
    let blocked: Double
    let dns: Double
    let connect: Double
    let send: Double
    let wait: Double
    let receive: Double
    /// A part of connecting.
    let ssl: Double

    init(_ exchange: TracedExchange) {
        let link = exchange.link.flatMap { $0.isReused ? nil : $0 }
        let lookUp = link?.lookUp ?? 0
        // What there was before the request was sent, and was neither a look-up nor connecting.
        let before = exchange.waiting.map { exchange.start - $0 }
        let dialling = exchange.dialling.map { exchange.start - $0 }
        let requestEnd = max(exchange.start, exchange.requestEnd ?? exchange.responseStart ?? exchange.end)
        let responseStart = max(requestEnd, exchange.responseStart ?? exchange.end)
        dns = dialling == nil || lookUp == 0 ? -1 : Self.milliseconds(lookUp)
        ssl = exchange.handshake.map(Self.milliseconds) ?? -1
        connect = dialling.map { Self.milliseconds(max(0, $0 - lookUp)) } ?? -1
        blocked = before.map { Self.milliseconds(max(0, $0 - (dialling ?? 0))) } ?? -1
        send = Self.milliseconds(requestEnd - exchange.start)
        wait = Self.milliseconds(responseStart - requestEnd)
        receive = Self.milliseconds(max(0, exchange.end - responseStart))
    }

    var total: Double { [blocked, dns, connect, send, wait, receive].filter { $0 > 0 }.reduce(0, +) }

    private static func milliseconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e6 }
}

private struct Pair: Encodable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    init(_ field: TransferTrace.Field) {
        self.init(field.name, field.value)
    }
}

private struct Request: Encodable {
    let method: String
    let url: String
    let httpVersion = "HTTP/1.1"
    let cookies: [Cookie]
    let headers: [Pair]
    let queryString: [Pair]
    let postData: PostData?
    let headersSize: Int
    let bodySize: Int

    init(_ exchange: TracedExchange) {
        let head = exchange.request
        method = head.method
        url = head.url
        headers = head.fields.map(Pair.init)
        cookies = head.fields.values(of: "Cookie").flatMap(Cookie.sent)
        queryString = (URLComponents(string: head.url)?.queryItems ?? []).map { Pair($0.name, $0.value ?? "") }
        headersSize = head.byteCount
        bodySize = exchange.sentBytes
        let pieces = exchange.passages.filter(\.isSent).map(\.piece)
        postData =
            pieces.isEmpty ? nil : PostData(Content(pieces), mimeType: head.value(of: "Content-Type") ?? "")
    }
}

private struct PostData: Encodable {
    let mimeType: String
    let text: String
    let comment: String?

    init(_ content: Content, mimeType: String) {
        self.mimeType = mimeType
        text = content.text ?? ""
        comment = content.text == nil ? "\(content.size) bytes, which are not text or were not kept" : content.comment
    }
}

private struct Response: Encodable {
    let status: Int
    let statusText: String
    let httpVersion: String
    let cookies: [Cookie]
    let headers: [Pair]
    let content: ResponseContent
    let redirectURL: String
    let headersSize: Int
    let bodySize: Int

    init(_ exchange: TracedExchange) {
        let head = exchange.response
        let fields = head?.fields ?? []
        status = head?.status ?? 0
        statusText = head?.reason ?? ""
        httpVersion = head == nil ? "" : "HTTP/1.1"
        headers = fields.map(Pair.init)
        cookies = fields.values(of: "Set-Cookie").compactMap(Cookie.init(received:))
        content = ResponseContent(exchange)
        redirectURL = fields.value(of: "Location") ?? ""
        headersSize = head?.byteCount ?? -1
        bodySize = head == nil ? -1 : exchange.receivedBytes
    }
}

private struct Cookie: Encodable {
    let name: String
    let value: String
    let path: String?
    let domain: String?
    let httpOnly: Bool?
    let secure: Bool?

    private init(_ pair: Substring, _ attributes: [Substring] = []) {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        name = parts[0].trimmingCharacters(in: .whitespaces)
        value = parts.count > 1 ? String(parts[1]) : ""
        let pairs = attributes.map { attribute in
            let parts = attribute.split(separator: "=", maxSplits: 1)
            return (
                (parts.first ?? "").trimmingCharacters(in: .whitespaces).lowercased(),
                parts.count > 1 ? String(parts[1]) : ""
            )
        }
        path = pairs.first { $0.0 == "path" }?.1
        domain = pairs.first { $0.0 == "domain" }?.1
        httpOnly = attributes.isEmpty ? nil : pairs.contains { $0.0 == "httponly" }
        secure = attributes.isEmpty ? nil : pairs.contains { $0.0 == "secure" }
    }

    init?(received field: String) {
        guard field != TransferTrace.redacted, !field.isEmpty else { return nil }
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        self.init(parts[0], Array(parts.dropFirst()))
    }

    static func sent(_ field: String) -> [Cookie] {
        field == TransferTrace.redacted ? [] : field.split(separator: ";").map { Cookie($0) }
    }
}

/// What is known of a body.
private struct Content {
    let size: Int
    /// The bytes that were kept, if they are the first of the body without a gap.
    let bytes: Data

    init(_ pieces: [TransferTrace.Piece]) {
        size = pieces.reduce(0) { $0 + $1.count }
        var bytes = Data()
        for piece in pieces {
            bytes += piece.content ?? Data()
            if piece.content?.count != piece.count { break }
        }
        self.bytes = bytes
    }

    /// The bytes as text, if they are.
    var text: String? { size > 0 && bytes.isEmpty ? nil : String(data: bytes, encoding: .utf8) }

    var comment: String? {
        bytes.count == size ? nil : "\(bytes.count) of \(size) bytes were kept"
    }
}

private struct ResponseContent: Encodable {
    let size: Int
    let compression: Int?
    let mimeType: String
    let text: String?
    let encoding: String?
    let comment: String?

    init(_ exchange: TracedExchange) {
        let wire = exchange.passages.filter { !$0.isSent }.map(\.piece)
        let isCoded = !exchange.decoded.isEmpty
        let content = Content(isCoded ? exchange.decoded : wire)
        size = content.size
        compression = isCoded ? content.size - exchange.receivedBytes : nil
        mimeType = exchange.response?.value(of: "Content-Type") ?? ""
        comment = content.comment
        if content.bytes.isEmpty {
            text = nil
            encoding = nil
        } else if let plain = content.text {
            text = plain
            encoding = nil
        } else {
            text = content.bytes.base64EncodedString()
            encoding = "base64"
        }
    }
}
