/// The version in a start line.
package struct HTTPVersion: Sendable, Hashable {
    package var major: Int
    package var minor: Int

    package init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Connections close after a message unless both sides ask to persist; no transfer codings.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    package static let http1_0 = HTTPVersion(major: 1, minor: 0)
    /// The version that Purl uses.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    package static let http1_1 = HTTPVersion(major: 1, minor: 1)
}

extension HTTPVersion: Comparable {
    package static func < (left: HTTPVersion, right: HTTPVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}

extension HTTPVersion: CustomStringConvertible {
    /// As it goes on the wire: `HTTP/1.1`.
    package var description: String { "HTTP/\(major).\(minor)" }
}

extension HTTPVersion {
    /// Reads the eight bytes `HTTP/1.x` at the start of the range. Every 1.x above 1.1 counts as 1.1
    /// (RFC 9110 §2.5).
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(ParseError) {
        let start = range.lowerBound
        guard range.count >= 8,
            bytes[start] == 0x48, bytes[start + 1] == 0x54, bytes[start + 2] == 0x54, bytes[start + 3] == 0x50,
            bytes[start + 4] == 0x2F
        else { throw .malformedStartLine }
        guard bytes[start + 6] == 0x2E,
            let major = bytes[start + 5].digitValue, let minor = bytes[start + 7].digitValue
        else { throw .malformedVersion }
        guard major == 1 else { throw .unsupportedVersion }
        self = minor == 0 ? .http1_0 : .http1_1
    }
}
