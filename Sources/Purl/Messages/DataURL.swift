import Foundation
internal import PurlHTTP

/// What a `data:` URL holds (RFC 2397).
struct DataURL: Sendable {
    enum Fault: Error {
        /// There is no comma, so there is no data.
        case noData
        /// Part of the media type is percent-encoded.
        case malformedType
        /// The data is not valid base64.
        case undecodable
    }

    let response: URLResponse
    let content: Data

    static func matches(_ url: URL) -> Bool { url.scheme?.lowercased() == "data" }

    init(_ url: URL) throws(Fault) {
        let text = url.absoluteString.prefix { $0 != "#" }
        guard let comma = text.firstIndex(of: ","), let colon = text.firstIndex(of: ":"), colon < comma else {
            throw .noData
        }
        var type = String(text[text.index(after: colon)..<comma])
        let encoded = String(text[text.index(after: comma)...])
        let marker = ";base64"
        let isBase64 = type.lowercased().hasSuffix(marker)
        if isBase64 { type.removeLast(marker.count) }
        guard !type.utf8.contains(UInt8(ascii: "%")) else { throw .malformedType }
        let bytes = Self.percentDecoded(encoded.utf8)
        content = isBase64 ? try Self.base64Decoded(bytes) : Data(bytes)
        let media = Self.mediaType(type)
        response = URLResponse(
            url: url, mimeType: media.essence, expectedContentLength: content.count,
            textEncodingName: media.charset)
    }

    /// "text/plain" where there is no type, or none that is valid. The charset is then unknown, as in Foundation, though
    /// RFC 2397 has US-ASCII as its default.
    private static func mediaType(_ text: String) -> MediaType {
        // "As a shorthand": the type may be left out and its parameters be there.
        MediaType(text.hasPrefix(";") ? "text/plain" + text : text) ?? MediaType(type: "text", subtype: "plain")
    }

    /// A percent sign without two digits stands for itself.
    private static func percentDecoded(_ text: String.UTF8View) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            guard byte == UInt8(ascii: "%"), digits.count == 2,
                digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                let value = UInt8(Substring(digits), radix: 16)
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// Blanks and line ends between the characters mean nothing, and the padding may be missing.
    private static func base64Decoded(_ bytes: [UInt8]) throws(Fault) -> Data {
        var text = bytes.filter { ![0x20, 0x09, 0x0A, 0x0C, 0x0D].contains($0) }
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        text += repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        guard let content = Data(base64Encoded: Data(text)) else { throw .undecodable }
        return content
    }
}
