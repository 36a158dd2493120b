/// How a recipient finds the end of a message's body.
package enum BodyFraming: Hashable, Sendable {
    /// There is no body.
    case none
    /// That many bytes.
    case length(Int64)
    /// The chunked transfer coding.
    case chunked
    /// All bytes until the peer closes.
    case untilClose
}

/// RFC 9112 §6.3, decided here alone.
extension BodyFraming {
    /// The framing of a response to a request with that method.
    /// Throws an error of kind `.framing` when the head leaves the end of the message in doubt.
    package static func ofResponse(_ head: ResponseHead, to method: RequestMethod) throws(ParseError) -> BodyFraming {
        // Rule 1: no body, regardless of the fields.
        if !method.allowsResponseContent || head.isInterim || head.status == 204 || head.status == 304 { return .none }
        // Rule 2: the connection becomes a tunnel.
        if method == .connect, (200...299).contains(head.status) { return .none }
        // Rules 3 to 6, then rule 8.
        return try declared(by: head.fields, version: head.version) ?? .untilClose
    }

    /// The framing of a request.
    /// Throws an error of kind `.framing` when the head leaves the end of the message in doubt.
    package static func ofRequest(_ head: RequestHead) throws(ParseError) -> BodyFraming {
        // Rules 3 to 6, then rule 7.
        try declared(by: head.fields, version: head.version) ?? .none
    }

    /// The framing that the fields declare; nil when they declare none.
    private static func declared(by fields: HeaderFields, version: HTTPVersion) throws(ParseError) -> BodyFraming? {
        guard fields.contains(.transferEncoding) else {
            guard let length = try contentLength(of: fields) else { return nil }
            return .length(length)
        }
        // RFC 9112 §6.1: an HTTP/1.0 message with Transfer-Encoding has faulty framing.
        guard version >= .http1_1 else { throw .transferEncodingInOldVersion }
        // Rule 3: both fields present is an attack, not a message.
        guard !fields.contains(.contentLength) else { throw .transferEncodingWithContentLength }
        // Rule 4: only chunked is supported, and it must be applied once.
        let codings = fields.listElements(of: .transferEncoding)
        guard codings.count == 1, fields.hasToken("chunked", in: .transferEncoding) else {
            throw .unsupportedTransferCoding
        }
        return .chunked
    }

    /// Rules 5 and 6: every value given must be the same valid number.
    private static func contentLength(of fields: HeaderFields) throws(ParseError) -> Int64? {
        guard fields.mayContain(.contentLength) else { return nil }
        var length: Int64?
        for line in fields.lines where fields.matches(line, .contentLength) {
            // One plain number is what nearly every message has.
            if length == nil, let number = Int64(digits: fields.bytes[line.value]) {
                length = number
                continue
            }
            for element in fields.bytes[line.value].split(separator: .comma, omittingEmptySubsequences: false) {
                guard let number = Int64(digits: element.trimmingBlanks()) else { throw .invalidContentLength }
                guard length == nil || length == number else { throw .conflictingContentLengths }
                length = number
            }
        }
        return length
    }
}
