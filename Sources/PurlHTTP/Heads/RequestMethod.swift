/// A request method (RFC 9110 §9) with its properties. Methods are case-sensitive.
package struct RequestMethod: Sendable, Hashable {
    /// The method as it goes on the wire.
    package let name: String

    /// A method with the given name. Any text is accepted; encoding rejects what is not a token.
    package init(_ name: String) {
        self.name = name
    }
}

/// The methods of RFC 9110 §9.3 and RFC 5789. Computed, not stored: a short literal costs no allocation,
/// nor does comparing it.
extension RequestMethod {
    /// `CONNECT`
    package static var connect: RequestMethod { "CONNECT" }
    /// `DELETE`
    package static var delete: RequestMethod { "DELETE" }
    /// `GET`
    package static var get: RequestMethod { "GET" }
    /// `HEAD`
    package static var head: RequestMethod { "HEAD" }
    /// `OPTIONS`
    package static var options: RequestMethod { "OPTIONS" }
    /// `PATCH`
    package static var patch: RequestMethod { "PATCH" }
    /// `POST`
    package static var post: RequestMethod { "POST" }
    /// `PUT`
    package static var put: RequestMethod { "PUT" }
    /// `TRACE`
    package static var trace: RequestMethod { "TRACE" }
}

extension RequestMethod {
    /// Whether the method only reads (RFC 9110 §9.2.1). False for an unknown method.
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace: true
        default: false
        }
    }

    /// Whether several identical requests have the same effect as one (RFC 9110 §9.2.2), so that a request whose
    /// connection failed may be sent again. False for an unknown method.
    package var isIdempotent: Bool { isSafe || self == .put || self == .delete }

    /// Whether the method anticipates content (RFC 9110 §8.6): a request without any has `Content-Length: 0`.
    package var expectsContent: Bool { self == .post || self == .put || self == .patch }

    /// Whether a final response may have content (RFC 9110 §9.3.2): false for HEAD, whatever the response's fields.
    package var allowsResponseContent: Bool { self != .head }
}

extension RequestMethod: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral name: String) {
        self.name = name
    }

    package var description: String { name }
}
