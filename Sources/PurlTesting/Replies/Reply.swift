public import Foundation
internal import PurlHTTP

/// What a route replies: content, and how the response describes, delivers and spoils it.
///
/// A reply is a value. Begin with a content (``bytes(_:contentType:)``, ``generated(size:seed:)``, ``file(_:)`` …) and
/// add modifiers; each returns a changed copy:
///
/// ```swift
/// let reply = Reply.generated(size: 64 << 20)
///     .entityTag("\"v1\"")
///     .cut(afterBytes: 1_000_000, times: 2)
/// ```
///
/// Without modifiers the response is a `200` with `Content-Length`. The connection is kept alive, and single byte ranges
/// and conditional requests are supported. There is no `Date` and no `Server` field, so that responses are the same every
/// time.
///
/// A modifier with a `times` argument holds for the first so many responses: those of the route, or those of the reply's
/// place in a ``sequence(_:)``. A modifier of a sequence holds for each of its members.
public struct Reply: Sendable {
    typealias Change = @Sendable (inout ReplyTraits) -> Void

    indirect enum Source: Sendable {
        case content(Content)
        case echo
        case raw([Data], RawEnding)
        case webSocket(WebSocketScript)
        case stream(Data, StreamScript)
        case upload(UploadTarget)
        case sequence([Reply])
        case switching(Reply, after: Int, to: Reply)
        case computed(@Sendable (ReceivedRequest) async throws -> Reply)
    }

    /// What happens after the last piece of a raw reply.
    public enum RawEnding: Sendable, Hashable {
        /// The stream ends.
        case close
        /// The connection is reset.
        case reset
        /// The connection stays open and takes the next request.
        case keepOpen
    }

    private let source: Source
    private var changes: [Change] = []

    private init(_ source: Source) {
        self.source = source
    }

    /// A copy with one more change. Later changes win.
    private func changed(_ change: @escaping Change) -> Reply {
        var reply = self
        reply.changes.append(change)
        return reply
    }

    /// The reply to the request `index`, from 0.
    func resolved(at index: Int) -> ResolvedReply {
        original(at: index).applying(changes, at: index)
    }

    private func original(at index: Int) -> ResolvedReply {
        switch source {
        case .content(let content):
            return ResolvedReply(source: .content(content))
        case .echo:
            return ResolvedReply(source: .echo)
        case .raw(let pieces, let ending):
            return ResolvedReply(source: .raw(pieces, ending))
        case .webSocket(let script):
            return ResolvedReply(source: .webSocket(script))
        case .stream(let head, let script):
            return ResolvedReply(source: .stream(head, script))
        case .upload(let target):
            return ResolvedReply(source: .upload(target))
        case .sequence(let replies):
            guard let last = replies.indices.last else { return Reply.status(404).resolved(at: index) }
            let position = min(index, last)
            return replies[position].resolved(at: index - position)
        case .switching(let first, let count, let second):
            return index < count ? first.resolved(at: index) : second.resolved(at: index - max(0, count))
        case .computed(let handler):
            return ResolvedReply(source: .computed { try await handler($0).resolved(at: index) })
        }
    }

    /// The generated contents of which each response has one, or the range of it that it claims to have; `nil` where a
    /// response may have something else, or lie.
    package var honestContents: [GeneratedContent]? {
        var traits = ReplyTraits()
        for change in changes { change(&traits) }
        guard traits.contentRangeFault == nil, traits.rangeFault == nil, traits.lengthFault == nil else { return nil }
        let replies: [Reply]
        switch source {
        case .content(.generated(let content)): return [content]
        case .sequence(let members): replies = members
        case .switching(let first, _, let second): replies = [first, second]
        case .content, .echo, .raw, .webSocket, .stream, .upload, .computed: return nil
        }
        let contents = replies.map(\.honestContents)
        return contents.contains { $0 == nil } ? nil : contents.flatMap { $0 ?? [] }
    }
}

// MARK: - Contents

extension Reply {
    /// Replies with bytes.
    ///
    /// - Parameters:
    ///   - data: The content.
    ///   - contentType: The `Content-Type`; without, there is no such field.
    public static func bytes(_ data: Data, contentType: String? = nil) -> Reply {
        let reply = Reply(.content(.data(data)))
        guard let contentType else { return reply }
        return reply.contentType(contentType)
    }

    /// Replies with text, as `text/plain; charset=utf-8`.
    ///
    /// - Parameter text: The content.
    public static func text(_ text: String) -> Reply {
        bytes(Data(text.utf8), contentType: "text/plain; charset=utf-8")
    }

    /// Replies with a file as it is at the time of the request, read in pieces while it is sent. A file that cannot be
    /// opened is a `404`.
    ///
    /// - Parameter url: Where the file is.
    public static func file(_ url: URL) -> Reply {
        Reply(.content(.file(url)))
    }

    /// Replies with ``GeneratedContent``.
    ///
    /// - Parameters:
    ///   - size: How many bytes there are.
    ///   - seed: Which content it is.
    public static func generated(size: Int, seed: UInt64 = 0) -> Reply {
        generated(GeneratedContent(size: size, seed: seed))
    }

    /// Replies with generated content.
    public static func generated(_ content: GeneratedContent) -> Reply {
        Reply(.content(.generated(content)))
    }

    /// Replies with a status and no content.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - reason: The reason phrase; the standard one by default.
    public static func status(_ status: Int, reason: String? = nil) -> Reply {
        Reply(.content(.empty)).status(status, reason: reason)
    }

    /// Replies with a redirect.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - location: The `Location`, written as it is: it may be relative, or nonsense.
    public static func redirect(_ status: Int = 302, to location: String) -> Reply {
        Reply.status(status).field("Location", location)
    }

    /// Replies with the request as the server received it: its first line, its fields and an empty line, then its body.
    public static var echo: Reply { Reply(.echo).contentType("text/plain; charset=utf-8") }

    /// Writes bytes on the wire and nothing else: a response that need not be HTTP.
    ///
    /// Modifiers do not change it, and neither does the method: `HEAD` gets all of it.
    ///
    /// - Parameters:
    ///   - pieces: The bytes; each piece is written by itself.
    ///   - ending: What happens then.
    public static func raw(_ pieces: [Data], then ending: RawEnding = .close) -> Reply {
        Reply(.raw(pieces, ending))
    }

    /// Writes text on the wire and nothing else; see ``raw(_:then:)-([Data],_)``.
    ///
    /// - Parameters:
    ///   - text: The text, sent as UTF-8.
    ///   - ending: What happens then.
    public static func raw(_ text: String, then ending: RawEnding = .close) -> Reply {
        raw([Data(text.utf8)], then: ending)
    }

    /// Replies with one reply after the other, one for each request; the last repeats.
    ///
    /// - Parameter replies: The replies. Without any: `404`.
    public static func sequence(_ replies: [Reply]) -> Reply {
        Reply(.sequence(replies))
    }

    /// Replies what a handler returns for the request.
    ///
    /// - Parameter handler: Gets the request with its body. It runs off the I/O thread, in a task that is cancelled when
    ///   the client leaves. An error becomes a `500` with its description.
    public static func computed(_ handler: @escaping @Sendable (ReceivedRequest) async throws -> Reply) -> Reply {
        Reply(.computed(handler))
    }

    /// Replies as before to the first requests, and with another reply to later ones: content, validators and all.
    ///
    /// - Parameters:
    ///   - count: To how many requests this reply is sent.
    ///   - other: The reply to those after them.
    public func switching(after count: Int, to other: Reply) -> Reply {
        Reply(.switching(self, after: count, to: other))
    }

    /// Accepts a WebSocket handshake (RFC 6455), then runs a script. A request that is not a handshake gets a `400`.
    ///
    /// Of the modifiers, those that add or replace fields hold for the response to the handshake: ``field(_:_:)`` sets a
    /// cookie with it, and a replaced `Sec-WebSocket-Accept` makes it invalid. To refuse a handshake, use another reply.
    ///
    /// - Parameter script: What the server does on the connection.
    public static func webSocket(_ script: WebSocketScript = .echo) -> Reply {
        Reply(.webSocket(script))
    }

    /// Sends a head without content, then runs a script without HTTP.
    ///
    /// - Parameters:
    ///   - script: What the server does on the connection.
    ///   - status: 101 for a request that asks for another protocol; for CONNECT any status from 200 to 299.
    ///   - upgrade: The `Upgrade` field's value, for 101.
    public static func stream(_ script: StreamScript = .echo, status: Int = 101, upgrade: String = "raw") -> Reply {
        var head = "HTTP/1.1 \(status) \(ResponseHead.standardReason(for: status))\r\n"
        if status == 101 { head += "Connection: upgrade\r\nUpgrade: \(upgrade)\r\n" }
        return Reply(.stream(Data((head + "\r\n").utf8), script))
    }

    /// Sends any text as a head, then runs a script without HTTP.
    ///
    /// - Parameters:
    ///   - script: What the server does on the connection.
    ///   - head: The text, sent as it is.
    public static func stream(_ script: StreamScript, after head: String) -> Reply {
        Reply(.stream(Data(head.utf8), script))
    }

    /// Takes uploads that can be resumed. Modifiers do not change it, and it cannot be a handler's reply: the target
    /// takes the request's body as it arrives.
    ///
    /// - Parameter target: What takes them.
    public static func upload(to target: UploadTarget) -> Reply {
        Reply(.upload(target))
    }
}

// MARK: - The head

extension Reply {
    /// Sets the status. Ranges and conditions are supported with 200 only.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - reason: The reason phrase; the standard one by default.
    public func status(_ status: Int, reason: String? = nil) -> Reply {
        changed { traits in
            traits.status = status
            traits.reason = reason
        }
    }

    /// Sets the `Content-Type`.
    ///
    /// - Parameter value: The field's value.
    public func contentType(_ value: String) -> Reply {
        changed { $0.contentType = value }
    }

    /// Adds a field line after those that the server writes itself. Names may repeat.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public func field(_ name: String, _ value: String) -> Reply {
        changed { $0.fields.append(FieldName(name), value) }
    }

    /// Replaces a field of the server's or of other modifiers.
    ///
    /// This can make a message that is wrong, such as one with a false `Content-Length`.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value; `nil` removes the field.
    public func replacingField(_ name: String, _ value: String?) -> Reply {
        changed { $0.replacements.append((FieldName(name), value)) }
    }

    /// Adds an interim response before the final one.
    ///
    /// - Parameter status: The status code: 100, 102, 103 …
    public func interim(_ status: Int, fields: KeyValuePairs<String, String> = [:]) -> Reply {
        let lines = HeaderFields(fields)
        return changed { $0.interim.append(ReplyTraits.Interim(status: status, fields: lines)) }
    }

    /// Sets the `ETag`.
    ///
    /// - Parameter tag: The field's value, quotes included: `"\"v1\""`, or `"W/\"v1\""` for a weak one.
    public func entityTag(_ tag: String) -> Reply {
        changed { $0.entityTag = .fixed(tag) }
    }

    /// Sets another `ETag` for each response. The content stays the same.
    ///
    /// - Parameter tags: The fields' values; the last repeats.
    public func entityTags(_ tags: [String]) -> Reply {
        changed { $0.entityTag = .each(tags) }
    }

    /// Sets a new `ETag` for each response. The content stays the same.
    public func freshEntityTags() -> Reply {
        changed { $0.entityTag = .fresh }
    }

    /// Sets the `Last-Modified` date.
    ///
    /// - Parameter date: The date; parts of a second are cut off.
    public func lastModified(_ date: Date) -> Reply {
        let seconds = Int64(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0
        return changed { $0.lastModified = HTTPDate(secondsSinceEpoch: seconds) }
    }

    /// Sets the `Last-Modified` date, or removes it.
    func lastModified(_ date: HTTPDate?) -> Reply {
        changed { $0.lastModified = date }
    }

    /// Ignores `If-Match`, `If-None-Match` and `If-Modified-Since`: no response is a `304` or a `412`.
    public func ignoringConditions() -> Reply {
        changed { $0.honoursConditions = false }
    }
}

// MARK: - Ranges

extension Reply {
    /// Ignores `Range`: responds with the whole content, and still with `Accept-Ranges`.
    ///
    /// - Parameter times: For how many responses.
    public func ignoringRange(times: Int = .max) -> Reply {
        changed { $0.ranges = Limited(value: .ignored, times: times) }
    }

    /// Responds `416` with `Content-Range: bytes */length`, whether the request has a range or not.
    ///
    /// - Parameter times: For how many responses.
    public func rangeNotSatisfiable(times: Int = .max) -> Reply {
        changed { $0.ranges = Limited(value: .refused, times: times) }
    }

    /// Responds `416` without a `Content-Range`, whether the request has a range or not.
    ///
    /// - Parameter times: For how many responses.
    public func rangeNotSatisfiableWithoutLength(times: Int = .max) -> Reply {
        changed { $0.ranges = Limited(value: .refusedWithoutLength, times: times) }
    }

    /// Sends ranges as `multipart/byteranges` (RFC 9110 §14.6): several, which are otherwise ignored, and a single one,
    /// for which no client that asked for one is prepared.
    ///
    /// - Parameter times: For how many responses.
    public func multipartRanges(times: Int = .max) -> Reply {
        changed { $0.ranges = Limited(value: .multipart, times: times) }
    }

    /// Sends the range whether the validator in `If-Range` is the current one or not.
    public func ignoringIfRange() -> Reply {
        changed { $0.ifRange = .ignored }
    }

    /// Sends the whole content to every request with `If-Range`, also when its validator is the current one.
    public func refusingIfRange() -> Reply {
        changed { $0.ifRange = .neverTrue }
    }

    /// Sends another range than the requested one, with the `Content-Range` of what is sent.
    ///
    /// - Parameters:
    ///   - fault: Which range.
    ///   - times: For how many responses.
    public func range(_ fault: RangeFault, times: Int = .max) -> Reply {
        changed { $0.rangeFault = Limited(value: fault, times: times) }
    }

    /// Sends ranges with another status than 206, as servers do that forget it.
    ///
    /// - Parameter status: The status code.
    public func partialStatus(_ status: Int) -> Reply {
        changed { $0.partialStatus = status }
    }

    /// Spoils the `Content-Range` of 206 responses.
    ///
    /// - Parameters:
    ///   - fault: What is wrong with it.
    ///   - times: For how many responses.
    public func contentRange(_ fault: ContentRangeFault, times: Int = .max) -> Reply {
        changed { $0.contentRangeFault = Limited(value: fault, times: times) }
    }

    /// Sets `Accept-Ranges`, which is `bytes` by default.
    ///
    /// Ranges are supported all the same; see ``ignoringRange(times:)``.
    ///
    /// - Parameter value: The field's value; `nil` removes the field.
    public func acceptRanges(_ value: String?) -> Reply {
        changed { $0.acceptRanges = value }
    }
}

// MARK: - Delivery

extension Reply {
    /// Sends the body in chunks.
    ///
    /// An HTTP/1.0 client gets the body until close instead.
    ///
    /// - Parameters:
    ///   - size: How many bytes a chunk has.
    ///   - chunkExtension: What each chunk's size is followed by, without the `;`.
    ///   - trailers: Fields after the last chunk.
    public func chunked(
        size: Int = 64 << 10, chunkExtension: String? = nil, trailers: KeyValuePairs<String, String> = [:]
    ) -> Reply {
        let chunking = ReplyTraits.Chunking(
            size: max(1, size), chunkExtension: chunkExtension, trailers: HeaderFields(trailers))
        return changed { $0.delivery = .chunked(chunking) }
    }

    /// Announces another length than the body has, then closes the connection.
    ///
    /// - Parameters:
    ///   - fault: Which length.
    ///   - times: For how many responses.
    public func contentLength(_ fault: LengthFault, times: Int = .max) -> Reply {
        changed { $0.lengthFault = Limited(value: fault, times: times) }
    }

    /// Sends the body without a length: the end of the stream is the end of the body.
    public func untilClose() -> Reply {
        changed { $0.delivery = .untilClose }
    }

    /// Limits the rate of the body.
    ///
    /// - Parameter bytesPerSecond: How many bytes of body are sent in a second at most.
    public func throttled(bytesPerSecond: Int) -> Reply {
        changed { $0.bytesPerSecond = max(1, bytesPerSecond) }
    }

    /// Writes head and body in pieces, each in a turn of its own.
    ///
    /// - Parameter count: How many bytes a piece has at most.
    public func inPieces(of count: Int) -> Reply {
        changed { $0.pieceSize = max(1, count) }
    }

    /// Closes the connection after the response.
    ///
    /// - Parameter announced: Whether the response has `Connection: close`.
    public func closingConnection(announced: Bool = true) -> Reply {
        changed { $0.persistence = announced ? .closedAsAnnounced : .closedUnannounced }
    }
}

// MARK: - The request's body

extension Reply {
    /// Responds as soon as the request's head has arrived, without reading the body and without `100 Continue`, then
    /// closes the connection. Handlers of ``computed(_:)`` get no body.
    public func beforeBody() -> Reply {
        changed { $0.respondsBeforeBody = true }
    }

    /// Reads the request's body, and sends the `100 Continue` that the client expects, only after a gate has opened.
    public func takingBody(after gate: ServerGate) -> Reply {
        changed { $0.bodyGate = gate }
    }

    /// Sends no `100 Continue` to a request with `Expect: 100-continue`, and waits for its body.
    public func ignoringExpectation() -> Reply {
        changed { $0.sendsContinue = false }
    }
}

// MARK: - Faults

extension Reply {
    /// Lets something go wrong when a response reaches a phase. Faults add up.
    ///
    /// - Parameters:
    ///   - fault: What goes wrong.
    ///   - phase: Where in the response.
    ///   - times: For how many responses.
    public func fault(_ fault: Fault, at phase: Phase, times: Int = .max) -> Reply {
        changed { $0.faults.append(Limited(value: PlannedFault(phase: phase, fault: fault), times: times)) }
    }

    /// Ends the stream in the middle of the body.
    ///
    /// - Parameters:
    ///   - count: After how many bytes of body.
    ///   - times: For how many responses.
    public func cut(afterBytes count: Int, times: Int = .max) -> Reply {
        fault(.cut, at: .afterBodyBytes(count), times: times)
    }

    /// Ends the stream at a phase of the response.
    ///
    /// - Parameters:
    ///   - phase: Where in the response.
    ///   - times: For how many responses.
    public func cut(at phase: Phase, times: Int = .max) -> Reply {
        fault(.cut, at: phase, times: times)
    }

    /// Resets the connection in the middle of the body.
    ///
    /// A reset discards what the client has not read: it may see fewer bytes, or none.
    ///
    /// - Parameters:
    ///   - count: After how many bytes of body.
    ///   - times: For how many responses.
    public func reset(afterBytes count: Int, times: Int = .max) -> Reply {
        fault(.reset, at: .afterBodyBytes(count), times: times)
    }

    /// Resets the connection at a phase of the response.
    ///
    /// - Parameters:
    ///   - phase: Where in the response.
    ///   - times: For how many responses.
    public func reset(at phase: Phase, times: Int = .max) -> Reply {
        fault(.reset, at: phase, times: times)
    }

    /// Stops sending in the middle of the body until a gate opens.
    ///
    /// - Parameters:
    ///   - count: After how many bytes of body.
    ///   - gate: The gate; without one, nothing more is ever sent.
    ///   - times: For how many responses.
    public func stalled(afterBytes count: Int, until gate: ServerGate? = nil, times: Int = .max) -> Reply {
        stalled(at: .afterBodyBytes(count), until: gate, times: times)
    }

    /// Stops sending at a phase of the response until a gate opens.
    ///
    /// - Parameters:
    ///   - phase: Where in the response.
    ///   - gate: The gate; without one, nothing more is ever sent.
    ///   - times: For how many responses.
    public func stalled(at phase: Phase, until gate: ServerGate? = nil, times: Int = .max) -> Reply {
        fault(.stall(until: gate), at: phase, times: times)
    }

    /// Delays the response until a gate opens. Interim responses are sent before.
    ///
    /// - Parameter times: For how many responses.
    public func delayed(until gate: ServerGate, times: Int = .max) -> Reply {
        stalled(at: .beforeHead, until: gate, times: times)
    }

    /// Delays the response for some time. Interim responses are sent before.
    ///
    /// - Parameters:
    ///   - duration: How long.
    ///   - times: For how many responses.
    public func delayed(by duration: Duration, times: Int = .max) -> Reply {
        fault(.pause(duration), at: .beforeHead, times: times)
    }
}

extension HeaderFields {
    fileprivate init(_ pairs: KeyValuePairs<String, String>) {
        self.init()
        for (name, value) in pairs { append(FieldName(name), value) }
    }
}
