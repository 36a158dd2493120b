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
