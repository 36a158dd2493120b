internal import PurlHTTP

/// The head of an answer, and what it promises.
struct AnswerHead {
    private(set) var head: ResponseHead
    /// Which bytes of the content follow. Empty where the answer has no body.
    let body: Range<Int64>
    /// How the body is chunked, if it is.
    let chunking: Traits.Chunking?
    /// Whether the connection takes another request afterwards.
    let keepsConnection: Bool

    /// The head of an answer with `traits` whose content has `length` bytes.
    init(_ traits: Traits, length: Int64, exchange: Exchange) {
        let request = exchange.head
        let selection = Selection(of: request, traits: traits, length: length)
        let status = selection.status(otherwise: traits.status)
        let shown = selection.range(of: length)
        // RFC 9110 §6.4.1: no content in answers with these statuses, whatever their fields say.
        let mayHaveBody = status != 204 && status != 304 && status / 100 != 1
        let delivery = traits.delivery(to: request)

        body = mayHaveBody && request.method.allowsResponseContent ? shown : 0..<0
        head = ResponseHead(status: status, reason: status == traits.status ? traits.reason : nil)
        var isUntilClose = false
        if mayHaveBody {
            if let type = traits.contentType, status != 416 { head.fields.append(.contentType, type) }
            switch delivery {
            case .length:
                head.fields.append(.contentLength, "\(shown.count)")
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
            keepsConnection = exchange.mayBeFollowed && !isUntilClose
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

    private mutating func appendRangeFields(_ selection: Selection, _ traits: Traits, length: Int64) {
        switch selection {
        case .part(let range):
            if let value = traits.contentRange(of: range, length: length) {
                head.fields.append(.contentRange, value)
            }
        case .unsatisfiable:
            head.fields.append(.contentRange, "bytes */\(length)")
        case .whole, .notModified:
            break
        }
        if let value = traits.acceptRanges, [200, 206, 416].contains(head.status) {
            head.fields.append(.acceptRanges, value)
        }
    }

    private mutating func appendValidators(_ traits: Traits) {
        switch traits.entityTag {
        case .fixed(let tag): head.fields.append(.etag, tag)
        case .none, .each, .fresh: break
        }
        if let date = traits.lastModified { head.fields.append(.lastModified, date.description) }
    }

    private mutating func appendConnection(_ traits: Traits, _ request: RequestHead) {
        if keepsConnection {
            // RFC 9112 §9.3: an older client keeps the connection only when told so.
            if request.version < .http1_1 { head.fields.append(.connection, "keep-alive") }
            return
        }
        switch traits.persistence {
        case .kept, .closedAsAnnounced: head.fields.append(.connection, "close")
        case .closedUnannounced: break
        }
    }
}

extension Selection {
    /// The status that goes with this, where the script asked for `status`.
    fileprivate func status(otherwise status: Int) -> Int {
        switch self {
        case .whole: status
        case .part: 206
        case .unsatisfiable: 416
        case .notModified: 304
        }
    }

    /// The bytes that are shown of `length`.
    fileprivate func range(of length: Int64) -> Range<Int64> {
        switch self {
        case .whole: 0..<length
        case .part(let range): range
        case .unsatisfiable, .notModified: 0..<0
        }
    }
}

extension Traits {
    /// RFC 9112 §6.1: chunks are only for clients that speak HTTP/1.1.
    fileprivate func delivery(to request: RequestHead) -> Delivery {
        switch delivery {
        case .length, .untilClose: delivery
        case .chunked: request.version < .http1_1 ? .untilClose : delivery
        }
    }

    /// The `Content-Range` of a 206, true or not; nil for none.
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
