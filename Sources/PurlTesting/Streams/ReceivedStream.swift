public import Foundation

/// A connection over which bytes went as they are, and what the client has sent on it so far.
public struct ReceivedStream: Sendable, Equatable {
    /// The number of the request that it began with, as in ``ReceivedRequest/number``; nil when it began without one.
    public let request: Int?
    /// The bytes, as long as there is room for them: as many as a request's body may have.
    public var bytes: Data { pieces.reduce(into: Data()) { $0 += $1 } }
    /// How many bytes have come, those that were not kept included.
    public internal(set) var byteCount = 0
    /// Whether the client has ended its stream.
    public internal(set) var hasEnded = false
    /// What the client sent in place of what was expected, one sentence.
    public internal(set) var surprise: String?
    /// How the connection ended; nil while it is open. ``Ending/complete``: both sides have ended their streams.
    public internal(set) var ending: Ending?

    /// The bytes as they came. Whoever looks at a record has a copy, which must not make every later byte cost one.
    var pieces: [Data] = []

    init(request: Int?) {
        self.request = request
    }

    /// The bytes as text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }
}
