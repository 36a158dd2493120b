package import PurlIO

/// What follows the head of a request on a connection.
@NetworkActor
package enum OutgoingContent {
    case none
    case whole(any StoredContent)
    /// - Parameter length: `nil` when it is not known; the feed's pieces are chunks then.
    case fed(BodyFeed, length: Int64?)

    /// The length in bytes; `nil` when it is not known.
    package var length: Int64? {
        switch self {
        case .none: 0
        case .whole(let content): Int64(content.count)
        case .fed(_, let length): length
        }
    }
}

/// Content that is in memory, in one piece.
package protocol StoredContent: AnyObject, Sendable {
    var count: Int { get }

    /// Calls `body` with the bytes, which are valid during the call.
    func withBytes(_ body: (UnsafeRawBufferPointer) throws(SystemError) -> Int) throws(SystemError) -> Int
}
