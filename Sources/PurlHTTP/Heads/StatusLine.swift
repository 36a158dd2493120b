/// The first line of a response: `HTTP/1.1 200 OK` (RFC 9112 §4).
struct StatusLine: StartLine {
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
            // Servers leave out the reason with the blank before it; nothing is lost.
            reason = ""
            return
        }
        guard bytes[start + 12] == .space else { throw .malformedStatus }
        reason = try StatusLine.reason(bytes, (start + 13)..<range.upperBound, status)
    }

    private static func reason(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ status: Int
    ) throws(ParseError) -> String {
        // Nearly always it is the standard phrase, and that text exists already.
        let standard = ResponseHead.standardReason(for: status)
        if bytes.equals(standard, range) { return standard }

        var text: [UInt8] = []
        text.append(bytes, range)
        guard text.allSatisfy(\.isFieldValueByte) else { throw .invalidReason }
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
