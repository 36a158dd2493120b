public import Foundation
internal import PurlHTTP

/// A request that the server received, and how far its response is.
public struct ReceivedRequest: Sendable, Equatable, CustomStringConvertible {
    /// The place of this request among all requests to its server, counted from 0 in the order their heads arrived.
    public let number: Int
    /// The number of its connection, counted from 1. Equal numbers mean that a connection was reused.
    public let connection: Int
    /// The method as the client wrote it.
    public let method: String
    /// The request target as the client wrote it: `/path?query`, an absolute URL (to a proxy), `host:port` or `*`.
    public let target: String
    /// The target's path without query, not percent-decoded. For targets without a path, the target.
    public let path: String
    /// What follows the first `?` of the target, not percent-decoded.
    public let query: String?
    /// The header fields.
    public let fields: ReceivedFields
    /// The body without its transfer coding, as many bytes as the server keeps at most.
    ///
    /// Empty until the whole body has arrived, or the client has left in the middle of it.
    public internal(set) var body = Data()
    /// How many bytes of body have arrived so far, those that were not kept included.
    public internal(set) var bodyBytesReceived = 0
    /// Whether the whole request, body included, has arrived.
    public internal(set) var isComplete = false
    /// The status of the response; `nil` until its first byte is written, and for raw replies.
    public internal(set) var status: Int?
    /// The header fields of the response, once it has a status.
    public internal(set) var responseFields: ReceivedFields?
    /// How many bytes of the response's body the operating system has taken so far. Chunk framing does not count.
    public internal(set) var bytesSent = 0
    /// How the response ended; `nil` while it is pending.
    public internal(set) var ending: LoopbackServer.Ending?

    init(number: Int, connection: Int, head: RequestHead) {
        self.number = number
        self.connection = connection
        method = head.method.name
        target = head.target
        let parts = TargetParts(head.target)
        path = parts.path
        query = parts.query
        fields = ReceivedFields(head.fields)
    }

    /// The request and what was sent to it, such as “GET /film: 200, 1000 bytes sent, cut”.
    public var description: String {
        let response = status.map { ["\($0)", "\(bytesSent) bytes sent"] } ?? []
        let answer = (response + (ending.map { ["\($0)"] } ?? [])).joined(separator: ", ")
        return "\(method) \(target)" + (answer.isEmpty ? "" : ": \(answer)")
    }
}

/// Header fields as they were written, a request's by the client: order, repeats, and upper and lower case are kept.
public struct ReceivedFields: Sendable, Equatable, RandomAccessCollection, CustomStringConvertible {
    /// One field line.
    public struct Field: Sendable, Equatable {
        /// The name as the client wrote it.
        public var name: String
        /// The value without the white space around it.
        public var value: String

        /// Creates a field line.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private let fields: HeaderFields

    init(_ fields: HeaderFields) {
        self.fields = fields
    }

    /// Always 0.
    public var startIndex: Int { 0 }

    /// The number of field lines.
    public var endIndex: Int { fields.count }

    /// A field line.
    ///
    /// - Parameter position: Its place, from 0.
    public subscript(position: Int) -> Field {
        let field = fields[fields.index(fields.startIndex, offsetBy: position)]
        return Field(name: field.name, value: field.value)
    }

    /// The value of a field; those of several lines are joined with `", "`.
    ///
    /// - Parameter name: The field's name, in upper or lower case.
    public subscript(name: String) -> String? { fields[FieldName(name)] }

    /// The values of all lines of a field, in order.
    ///
    /// - Parameter name: The field's name, in upper or lower case.
    public func values(_ name: String) -> [String] { fields.values(of: FieldName(name)) }

    /// The names as the client wrote them, in order.
    public var names: [String] { map(\.name) }

    /// One `name: value` per line.
    public var description: String { map { "\($0.name): \($0.value)" }.joined(separator: "\n") }
}

/// The parts of a request target (RFC 9112 §3.2).
private struct TargetParts {
    /// The path, or the whole target where it has none (`*`, `host:port`).
    let path: String
    /// What follows the first `?`.
    let query: String?

    init(_ target: String) {
        var rest = target[...]
        // RFC 9112 §3.2.2: a server accepts the absolute form, too. Only its path counts for routes.
        if !rest.hasPrefix("/"), let scheme = rest.firstRange(of: "://") {
            let authority = rest[scheme.upperBound...]
            rest = authority[(authority.firstIndex { $0 == "/" || $0 == "?" } ?? authority.endIndex)...]
            if !rest.hasPrefix("/") { rest = "/" + rest }
        }
        let question = rest.firstIndex(of: "?")
        path = String(rest[..<(question ?? rest.endIndex)])
        query = question.map { String(rest[rest.index(after: $0)...]) }
    }
}
