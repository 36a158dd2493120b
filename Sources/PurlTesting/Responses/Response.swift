import Foundation
internal import PurlHTTP

/// One response, composed before its first byte is sent: what to write, from where, and what to do afterwards.
struct Response {
    /// What to write, step by step.
    let script: ResponseScript
    /// Where the body's bytes come from.
    let content: ContentReader
    /// How many bytes of body are sent in a second at most.
    var bytesPerSecond: Int?
    /// Whether the connection takes another request afterwards.
    let keepsConnection: Bool
    /// The final head; `nil` for raw bytes.
    private(set) var head: ResponseHead?

    /// Composes the response of `reply` to `request`. A file that cannot be opened becomes a 404, a head that cannot be
    /// written a 500.
    init(_ reply: ResolvedReply, to request: PendingRequest) {
        do {
            switch reply.source {
            case .content(let content):
                try self.init(ContentReader(content), reply.traits, to: request)
            case .echo:
                try self.init(ContentReader(request.echo), reply.traits, to: request)
            case .raw(let pieces, let ending):
                self.init(pieces, then: ending, to: request)
            case .webSocket:
                self.init(failure: 400, "The request is not a WebSocket handshake.", to: request)
            case .stream:
                self.init(failure: 500, "The reply speaks no HTTP.", to: request)
            case .upload:
                self.init(failure: 500, "A handler cannot take an upload: the body has been read.", to: request)
            case .computed:
                self.init(failure: 500, "A handler returned too many handlers.", to: request)
            }
        } catch let error as EncodeError {
            self.init(failure: 500, "The reply cannot be written: \(error)", to: request)
        } catch {
            self.init(failure: 404, "The reply's file cannot be read: \(error)", to: request)
        }
    }

    /// A response with what went wrong as its body. It closes the connection.
    init(failure status: Int, _ explanation: String, to request: PendingRequest?) {
        let content = ContentReader(Data((explanation + "\n").utf8))
        let head =
            "HTTP/1.1 \(status) \(ResponseHead.standardReason(for: status))\r\nContent-Type: text/plain; charset=utf-8"
            + "\r\nContent-Length: \(content.length)\r\nConnection: close\r\n\r\n"
        let isHead = request?.head.method == .head
        script = ResponseScript(prelude: [.bytes([UInt8](head.utf8))], range: 0..<(isHead ? 0 : content.length))
        self.content = content
        keepsConnection = false
    }

    private init(_ pieces: [Data], then ending: Reply.RawEnding, to request: PendingRequest) {
        var steps = pieces.flatMap { [.bytes([UInt8]($0)), .turn] as [ResponseScript.Step] }
        if ending == .reset { steps.append(.fault(.reset)) }
        script = ResponseScript(prelude: steps, range: 0..<0)
        content = ContentReader(Data())
        keepsConnection = ending == .keepOpen && request.received.isComplete
    }

    private init(_ content: ContentReader, _ traits: ReplyTraits, to request: PendingRequest) throws {
        let composed = ComposedHead(traits, length: content.length, request: request)
        var prelude: [ResponseScript.Step] = []
        for interim in traits.interim {
            var bytes: [UInt8] = []
            try ResponseHead(status: interim.status, fields: interim.fields).encode(into: &bytes)
            prelude.append(.bytes(bytes))
        }
        var bytes: [UInt8] = []
        try composed.head.encode(into: &bytes)

        let faults = traits.faults.map(\.value)
        prelude += bytes.split(by: faults)
        script = try ResponseScript(
            prelude: prelude, range: composed.body, chunking: composed.chunking, faults: faults,
            pieceSize: traits.pieceSize)
        self.content = composed.multipart.map { ContentReader(content, arrangedBy: $0) } ?? content
        self.head = composed.head
        bytesPerSecond = traits.bytesPerSecond
        keepsConnection = composed.keepsConnection
    }
}

extension [UInt8] {
    /// The steps that write these bytes of a head, with the faults that happen in it.
    fileprivate func split(by faults: [PlannedFault]) -> [ResponseScript.Step] {
        let breaks = faults.compactMap { planned in offset(of: planned.phase).map { ($0, planned.fault) } }
        var steps: [ResponseScript.Step] = []
        var start = 0
        for (offset, fault) in breaks.sorted(by: { $0.0 < $1.0 }) {
            if offset > start { steps.append(.bytes([UInt8](self[start..<offset]))) }
            steps.append(.fault(fault))
            start = offset
        }
        return steps + [.bytes([UInt8](self[start...]))]
    }

    /// Where in these bytes of a head the phase is; `nil` when it is elsewhere in the response, or nowhere.
    private func offset(of phase: Reply.Phase) -> Int? {
        let firstLine = firstIndex(of: UInt8(ascii: "\n")) ?? count
        switch phase {
        case .beforeHead: return 0
        case .statusLine: return firstLine / 2
        case .field:
            // A line of two bytes is the empty one after the fields.
            guard let end = self[(firstLine + 1)...].firstIndex(of: UInt8(ascii: "\n")), end > firstLine + 2 else {
                return nil
            }
            return (firstLine + 1 + end) / 2
        case .midHead: return count / 2
        case .afterBodyBytes, .midBody, .bodyShare, .beforeLastBytes, .chunkSize, .chunk, .trailers: return nil
        }
    }
}

/// The head of a response, and what it promises.
struct ComposedHead {
    private(set) var head: ResponseHead
    /// Which bytes of the content are the body; none where the response has no body.
    let body: Range<Int64>
    /// How the body is put together when it is more than a part of the content.
    let multipart: MultipartRanges?
    /// How the body is chunked, if it is.
    let chunking: ReplyTraits.Chunking?
    /// Whether the connection takes another request afterwards.
    let keepsConnection: Bool

    /// Composes the head of a response with `traits` whose content has `length` bytes.
    init(_ traits: ReplyTraits, length: Int64, request pending: PendingRequest) {
        let request = pending.head
        let selection = ContentSelection(of: request, traits: traits, length: length)
        let status = selection.status(traits)
        multipart = MultipartRanges(selection, contentType: traits.contentType, length: length)
        let selected = multipart.map { 0..<$0.length } ?? selection.range(of: length)
        // RFC 9110 §6.4.1: responses with these statuses have no content, whatever their fields are.
        let mayHaveBody = status != 204 && status != 304 && status / 100 != 1
        let delivery = traits.delivery(to: request)

        body = mayHaveBody && request.method.allowsResponseContent ? selected : 0..<0
        head = ResponseHead(status: status, reason: status == traits.status ? traits.reason : nil)
        var isUntilClose = false
        if mayHaveBody {
            if let type = multipart?.contentType ?? traits.contentType, status != 416 {
                head.fields.append(.contentType, type)
            }
            switch delivery {
            case .length:
                head.fields.append(.contentLength, "\(traits.announcedLength(of: selected.count))")
            case .chunked:
                head.fields.append(.transferEncoding, "chunked")
            case .untilClose:
                isUntilClose = true
            }
        }
        if case .chunked(let chunking) = delivery, mayHaveBody, request.method.allowsResponseContent {
            self.chunking = chunking
        } else {
            chunking = nil
        }
        switch traits.persistence {
        case .kept:
            keepsConnection = pending.mayBeFollowed && !isUntilClose && traits.lengthFault == nil
        case .closedAsAnnounced, .closedUnannounced:
            keepsConnection = false
        }
        appendRangeFields(selection, traits, length: length)
        appendValidators(traits)
        if let names = chunking?.trailers.map(\.name), !names.isEmpty {
            head.fields.append(.trailer, names.joined(separator: ", "))
        }
        for field in traits.fields { head.fields.append(FieldName(field.name), field.value) }
        appendConnection(traits, request)
        for (name, value) in traits.replacements { head.fields[name] = value }
    }

    private mutating func appendRangeFields(_ selection: ContentSelection, _ traits: ReplyTraits, length: Int64) {
        switch selection {
        case .part(let range):
            if let value = traits.contentRange(of: range, length: length) {
                head.fields.append(.contentRange, value)
            }
        case .unsatisfiable(let isLengthKnown):
            if isLengthKnown { head.fields.append(.contentRange, "bytes */\(length)") }
        case .whole, .parts, .notModified, .preconditionFailed:
            break
        }
        if let value = traits.acceptRanges, [200, 206, 416].contains(head.status) {
            head.fields.append(.acceptRanges, value)
        }
    }

    private mutating func appendValidators(_ traits: ReplyTraits) {
        switch traits.entityTag {
        case .fixed(let tag): head.fields.append(.etag, tag)
        case .none, .each, .fresh: break
        }
        if let date = traits.lastModified { head.fields.append(.lastModified, date.description) }
    }

    private mutating func appendConnection(_ traits: ReplyTraits, _ request: RequestHead) {
        if keepsConnection {
            // RFC 9112 §9.3: an HTTP/1.0 client keeps the connection only with this field.
            if request.version < .http1_1 { head.fields.append(.connection, "keep-alive") }
            return
        }
        switch traits.persistence {
        case .kept, .closedAsAnnounced: head.fields.append(.connection, "close")
        case .closedUnannounced: break
        }
    }
}

extension ContentSelection {
    /// The status of a response with this selection.
    fileprivate func status(_ traits: ReplyTraits) -> Int {
        switch self {
        case .whole: traits.status
        case .part, .parts: traits.partialStatus
        case .unsatisfiable: 416
        case .notModified: 304
        case .preconditionFailed: 412
        }
    }

    /// The bytes that the response has of a content of `length` bytes.
    fileprivate func range(of length: Int64) -> Range<Int64> {
        switch self {
        case .whole: 0..<length
        case .part(let range): range
        case .parts, .unsatisfiable, .notModified, .preconditionFailed: 0..<0
        }
    }
}

extension ReplyTraits {
    /// How the body's end is marked. RFC 9112 §6.1: chunks are for HTTP/1.1 clients only.
    fileprivate func delivery(to request: RequestHead) -> Delivery {
        switch delivery {
        case .length, .untilClose: delivery
        case .chunked: request.version < .http1_1 ? .untilClose : delivery
        }
    }

    /// The `Content-Length` of a body of `count` bytes.
    fileprivate func announcedLength(of count: Int) -> Int {
        switch lengthFault?.value {
        case nil: count
        case .off(let difference): max(0, count.addingReportingOverflow(difference).partialValue)
        case .exactly(let length): max(0, length)
        }
    }

    /// The `Content-Range` of a 206, as the reply spoils it; `nil` for none.
    fileprivate func contentRange(of range: Range<Int64>, length: Int64) -> String? {
        let last = range.upperBound - 1
        switch contentRangeFault?.value {
        case nil:
            return "bytes \(range.lowerBound)-\(last)/\(length)"
        case .shifted(let distance):
            let (first, overflow) = range.lowerBound.addingReportingOverflow(Int64(distance))
            let start = overflow ? 0 : max(0, first)
            return "bytes \(start)-\(start.addingReportingOverflow(last - range.lowerBound).partialValue)/\(length)"
        case .total(let total):
            return "bytes \(range.lowerBound)-\(last)/\(total.map { "\($0)" } ?? "*")"
        case .missing:
            return nil
        case .literal(let text):
            return text
        }
    }
}
