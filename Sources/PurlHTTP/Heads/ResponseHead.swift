/// Version, status, reason and fields of a response.
package struct ResponseHead: Sendable, Equatable {
    package var version: HTTPVersion
    /// 100 to 999 when it came from a parser.
    package var status: Int
    /// The reason phrase, for people only; may be empty.
    package var reason: String
    package var fields: HeaderFields

    /// A head; without a reason it gets the standard phrase of its status.
    package init(
        version: HTTPVersion = .http1_1, status: Int, reason: String? = nil, fields: HeaderFields = [:]
    ) {
        self.version = version
        self.status = status
        self.reason = reason ?? ResponseHead.standardReason(for: status)
        self.fields = fields
    }

    /// Whether this is a 1xx head. 101 is one too: the caller decides whether the protocol was switched.
    package var isInterim: Bool { (100...199).contains(status) }
}

extension ResponseHead {
    /// Appends the head with the empty line after it.
    /// Throws, and appends nothing, when a part could break the message (response splitting).
    package func encode(into bytes: inout [UInt8]) throws(EncodeError) {
        guard version.isWritable else { throw .invalidVersion }
        guard (100...999).contains(status) else { throw .invalidStatus }
        guard reason.utf8.allSatisfy({ $0.isFieldValueByte }) else { throw .invalidReason }
        try fields.validate()

        bytes.reserveCapacity(bytes.count + reason.utf8.count + 17 + fields.encodedByteCount)
        bytes.append(contentsOf: version == .http1_0 ? "HTTP/1.0".utf8 : "HTTP/1.1".utf8)
        bytes.append(.space)
        bytes.append(contentsOf: String(status).utf8)
        bytes.append(.space)
        bytes.append(contentsOf: reason.utf8)
        bytes.appendLineEnd()
        fields.encodeValidated(into: &bytes)
    }
}

/// Reads response heads from input that comes in pieces. After an error it cannot be used further.
package struct ResponseHeadParser: Sendable {
    private var reader: HeadReader<StatusLine>

    package init(limits: HeadLimits = .standard) {
        reader = HeadReader(limits: limits)
    }

    /// Takes bytes from `offset` on and moves `offset` past what it took: at most to the end of the head.
    /// nil when the head is not complete yet. After a head the parser is ready for the next one.
    package mutating func parse(
        _ input: RawSpan, from offset: inout Int
    ) throws(ParseError) -> ResponseHead? {
        guard let (start, fields) = try reader.next(Span(_bytes: input), from: &offset) else { return nil }
        return ResponseHead(version: start.version, status: start.status, reason: start.reason, fields: fields)
    }
}

/// The first line of a response: `HTTP/1.1 200 OK` (RFC 9112 §4).
struct StatusLine: StartLine {
    static let opening: [UInt8] = [0x48, 0x54, 0x54, 0x50, 0x2F]

    let version: HTTPVersion
    let status: Int
    let reason: String

    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) {
        let start = range.lowerBound
        version = try HTTPVersion(bytes, range)
        guard range.count > 8, bytes[start + 8] == .space else { throw .malformedStartLine }

        guard range.count >= 12,
            let hundreds = bytes[start + 9].digitValue,
            let tens = bytes[start + 10].digitValue,
            let ones = bytes[start + 11].digitValue,
            hundreds > 0
        else { throw .malformedStatus }
        status = hundreds * 100 + tens * 10 + ones

        guard range.count > 12 else {
            // Some servers leave out the reason with the blank before it.
            reason = ""
            return
        }
        guard bytes[start + 12] == .space else { throw .malformedStatus }
        reason = try StatusLine.reason(bytes, (start + 13)..<range.upperBound, status)
    }

    private static func reason(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ status: Int
    ) throws(ParseError) -> String {
        // Usually it is the standard phrase, which needs no new text.
        let standard = ResponseHead.standardReason(for: status)
        if bytes.equals(standard, range) { return standard }

        var text: [UInt8] = []
        text.append(bytes, range)
        guard text.allSatisfy({ $0.isFieldValueByte }) else { throw .invalidReason }
        return String(fieldBytes: text[...])
    }
}

extension Span<UInt8> {
    /// Whether the bytes in `range` are exactly those of `text`.
    fileprivate func equals(_ text: String, _ range: Range<Int>) -> Bool {
        guard text.utf8.count == range.count else { return false }
        var position = range.lowerBound
        for byte in text.utf8 {
            if byte != self[position] { return false }
            position += 1
        }
        return true
    }
}

extension ResponseHead {
    /// The registered phrase of a status; empty for an unregistered one.
    package static func standardReason(for status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 102: "Processing"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 207: "Multi-Status"
        case 208: "Already Reported"
        case 226: "IM Used"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 305: "Use Proxy"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 423: "Locked"
        case 424: "Failed Dependency"
        case 425: "Too Early"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 451: "Unavailable For Legal Reasons"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 506: "Variant Also Negotiates"
        case 507: "Insufficient Storage"
        case 508: "Loop Detected"
        case 510: "Not Extended"
        case 511: "Network Authentication Required"
        default: ""
        }
    }
}
