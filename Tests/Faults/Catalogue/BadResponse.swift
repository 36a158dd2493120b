package import Foundation

/// A response that is no HTTP, or too much of it.
package struct BadResponse: Sendable, CustomStringConvertible {
    package let description: String
    package let code: URLError.Code
    package let text: String

    init(_ name: String, _ code: URLError.Code, _ text: String) {
        description = name
        self.code = code
        self.text = text
    }

    init(_ name: String, _ text: String) {
        self.init(name, .badServerResponse, text)
    }

    /// A 200 with these field lines and a body of five bytes.
    static func fields(_ name: String, _ code: URLError.Code, _ lines: String) -> BadResponse {
        BadResponse(name, code, "HTTP/1.1 200 OK\r\n\(lines)\r\n\r\nhello")
    }

    static func fields(_ name: String, _ lines: String) -> BadResponse {
        fields(name, .badServerResponse, lines)
    }

    /// A chunked 200 whose body is `text`.
    static func chunks(_ name: String, _ code: URLError.Code, _ text: String) -> BadResponse {
        BadResponse(name, code, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(text)")
    }

    static func chunks(_ name: String, _ text: String) -> BadResponse {
        chunks(name, .cannotDecodeRawData, text)
    }
}

extension BadResponse {
    package static let chunks: [BadResponse] = [
        .chunks("a size of letters", "zz\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a signed size", "+5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a blank before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a blank in the size", "5 5\r\nhello\r\n0\r\n\r\n"),
        .chunks("no size", "\r\nhello\r\n0\r\n\r\n"),
        .chunks("an extension without a size", ";a=b\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size beyond 63 bits", "8000000000000000\r\nhello"),
        .chunks("a size that wraps around", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size of 70 digits", String(repeating: "f", count: 70) + "\r\nhello"),
        .chunks("data longer than its size", "4\r\nhello\r\n0\r\n\r\n"),
        .chunks("data shorter than its size", "6\r\nhello\r\n0\r\n\r\n"),
        .chunks("data without a line end", "5\r\nhello0\r\n\r\n"),
        .chunks("CR after the data without LF", "5\r\nhello\r0\r\n\r\n"),
        .chunks("CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        .chunks("a trailer that is not a field", .badServerResponse, "0\r\nX : y\r\n\r\n"),
        .chunks("NUL in an extension", "5;a\u{0}b\r\nhello\r\n0\r\n\r\n"),
    ]

    package static let chunkLimits: [BadResponse] = [
        .chunks(
            "an extension of 5000 bytes", .cannotParseResponse, "5;a=" + String(repeating: "x", count: 5000) + "\r\n"),
        .chunks("a size of 5000 zeros", .cannotParseResponse, String(repeating: "0", count: 5000)),
        .chunks(
            "trailers of 20 000 bytes", .cannotParseResponse,
            "0\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n"),
        .chunks(
            "300 trailers", .cannotParseResponse, "0\r\n" + (0..<300).map { "X\($0): y\r\n" }.joined() + "\r\n"),
    ]
}

extension BadResponse {
    package static let statusLines: [BadResponse] = [
        BadResponse("no HTTP at all", "<html><body>hello</body></html>\r\n\r\n"),
        BadResponse("another protocol's greeting", "SSH-2.0-server\r\n\r\n"),
        BadResponse("a TLS alert", "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}F\r\n\r\n"),
        BadResponse(
            "an HTTP/2 frame of settings, which has no line break",
            "\0\0\u{6}\u{4}\0\0\0\0\0\0\u{3}\0\0\0d"),
        BadResponse("a name that is not HTTP", "HTP/1.1 200 OK\r\n\r\n"),
        BadResponse("HTTP in small letters", "http/1.1 200 OK\r\n\r\n"),
        BadResponse("a blank before it", " HTTP/1.1 200 OK\r\n\r\n"),
        BadResponse("HTTP/2.0", "HTTP/2.0 200 OK\r\n\r\n"),
        BadResponse("HTTP/0.9", "HTTP/0.9 200 OK\r\n\r\n"),
        BadResponse("a version without a minor number", "HTTP/1 200 OK\r\n\r\n"),
        BadResponse("a version of letters", "HTTP/x.y 200 OK\r\n\r\n"),
        BadResponse("no status", "HTTP/1.1\r\n\r\n"),
        BadResponse("a blank for a status", "HTTP/1.1 \r\n\r\n"),
        BadResponse("no blank before the status", "HTTP/1.1200 OK\r\n\r\n"),
        BadResponse("two blanks before the status", "HTTP/1.1  200 OK\r\n\r\n"),
        BadResponse("a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"),
        BadResponse("a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"),
        BadResponse("a signed status", "HTTP/1.1 +20 OK\r\n\r\n"),
        BadResponse("a status below 100", "HTTP/1.1 099 OK\r\n\r\n"),
        BadResponse("a status of letters", "HTTP/1.1 abc OK\r\n\r\n"),
        BadResponse("NUL in the reason", "HTTP/1.1 200 O\u{0}K\r\n\r\n"),
        BadResponse("CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n"),
    ]

    package static let fieldLines: [BadResponse] = [
        .fields("a blank before the colon", "Content-Length : 5"),
        .fields("a tab before the colon", "Content-Length\t: 5"),
        .fields("no colon", "Content-Length 5"),
        .fields("no name", ": 5"),
        .fields("a blank in the name", "Content Length: 5"),
        .fields("a letter outside ASCII in the name", "Länge: 5"),
        .fields("a control character in the name", "X\u{1}: 5"),
        .fields("a continuation before the first field", " X: y"),
        .fields("NUL in a value", "X: a\u{0}b"),
        .fields("CR in a value", "X: a\rb"),
        .fields("CR that would smuggle a field", "X: a\rContent-Length: 0"),
        .fields("DEL in a value", "X: a\u{7F}b"),
        .fields("ESC in a value", "X: \u{1B}[2J"),
    ]

    package static let limits: [BadResponse] = [
        .fields("a field of 70 000 bytes", .cannotParseResponse, "X: " + String(repeating: "x", count: 70_000)),
        .fields("a name of 70 000 bytes", .cannotParseResponse, String(repeating: "x", count: 70_000) + ": y"),
        .fields("300 fields", .cannotParseResponse, (0..<300).map { "X-\($0): y" }.joined(separator: "\r\n")),
        .fields(
            "fields of 70 000 bytes together", .cannotParseResponse,
            (0..<100).map { "X-\($0): " + String(repeating: "y", count: 700) }.joined(separator: "\r\n")),
        BadResponse(
            "a status line of 70 000 bytes", .cannotParseResponse,
            "HTTP/1.1 200 " + String(repeating: "x", count: 70_000)),
        BadResponse("70 000 empty lines", .cannotParseResponse, String(repeating: "\r\n", count: 70_000)),
        BadResponse(
            "a line that never ends", .cannotParseResponse, "HTTP/1.1 " + String(repeating: "x", count: 200_000)),
        BadResponse(
            "101 interim responses",
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 101) + "HTTP/1.1 204 No Content\r\n\r\n"),
    ]

    package static let framings: [BadResponse] = [
        .fields("two lengths that differ", "Content-Length: 5\r\nContent-Length: 6"),
        .fields("a list of lengths that differ", "Content-Length: 5, 6"),
        .fields("a list of lengths with a gap", "Content-Length: 5,,5"),
        .fields("a signed length", "Content-Length: +5"),
        .fields("a negative length", "Content-Length: -5"),
        .fields("a hexadecimal length", "Content-Length: 0x5"),
        .fields("a length with a blank in it", "Content-Length: 5 5"),
        .fields("a length with a fraction", "Content-Length: 5.0"),
        .fields("an empty length", "Content-Length:"),
        .fields("a length beyond 64 bits", "Content-Length: 9223372036854775808"),
        .fields("a length that wraps around to 5", "Content-Length: 18446744073709551621"),
        .fields("a length with digits of another script", "Content-Length: ٥"),
        .fields("length together with chunked", "Content-Length: 5\r\nTransfer-Encoding: chunked"),
        .fields("chunked together with length", "Transfer-Encoding: chunked\r\nContent-Length: 5"),
        .fields("a coding that is not chunked", "Transfer-Encoding: gzip"),
        .fields("identity for a coding", "Transfer-Encoding: identity"),
        .fields("a coding before chunked", "Transfer-Encoding: gzip, chunked"),
        .fields("a coding after chunked", "Transfer-Encoding: chunked, gzip"),
        .fields("chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        .fields("chunked in disguise", "Transfer-Encoding: \u{B}chunked"),
        BadResponse("chunked from HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        BadResponse(
            "an unasked switch of protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello"),
    ]
}
