public import Foundation
internal import PurlHTTP

/// A request that reached the server, and what became of its answer so far.
public struct ReceivedRequest: Sendable, Equatable {
    /// The place of this request among all requests to its server, counted from 0 in the order their heads arrived.
    public let number: Int
    /// The number of the connection it came on, counted from 1. Equal numbers mean that a connection was used again.
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
    /// The body without its transfer coding, at most as many bytes as the server was told to keep.
    ///
    /// Empty until the whole body has arrived, or the client has gone away in the middle of it.
    public internal(set) var body = Data()
    /// How many bytes of body have arrived so far, those that were not kept included.
    public internal(set) var bodyBytesReceived = 0
    /// Whether the whole request, body included, has arrived.
    public internal(set) var isComplete = false
    /// How many bytes of the answer's body the operating system has taken so far. Chunk framing does not count.
    public internal(set) var bytesSent = 0
    /// How the answer ended; nil while it is under way.
    public internal(set) var ending: Ending?

    init(number: Int, connection: Int, head: RequestHead) {
        self.number = number
        self.connection = connection
        method = head.method.name
        target = head.target
        let place = RequestTarget(head.target)
        path = place.path
        query = place.query
        fields = ReceivedFields(head.fields)
    }
}
