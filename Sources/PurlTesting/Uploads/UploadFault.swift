extension UploadTarget {
    /// What goes wrong with an upload when one of its requests reaches a ``Phase``.
    public enum Fault: Sendable {
        /// The connection is cut or reset, or the server stops reading for a while.
        case connection(Reply.Fault)
        /// The server sends this response in place of what it would send. It closes the connection when the request's
        /// content has not arrived.
        case reply(Reply)
        /// The 104 has this version; `nil` for none. Holds at ``Phase/creation``.
        case interimVersion(Int?)
        /// The 104, and the response to a creation, have this `Location`; `nil` for none. Holds at ``Phase/creation``.
        case location(String?)
        /// The response states this offset; `nil` for none. Holds at ``Phase/offsetRetrieval``, and at
        /// ``Phase/append``, where the response is a 409.
        case offset(Int?)
        /// The upload loses what it has behind this offset. The draft forbids that.
        case truncation(to: Int)
        /// The upload's resource expires, and the request gets a 404.
        case expiry

        /// Whether the request is processed nonetheless.
        var changesResponse: Bool {
            switch self {
            case .interimVersion, .location, .offset, .truncation: true
            case .connection, .reply, .expiry: false
            }
        }
    }

    /// Where in an upload something goes wrong.
    public enum Phase: Sendable, Hashable {
        /// The head of a request that creates an upload has arrived. There is no upload and no 104 yet.
        case creation
        /// The 104 has been sent, and no content taken.
        case announcement
        /// The upload has this many bytes; more are not taken. The last byte of a request's content is taken before its
        /// end is seen, so the upload is not complete.
        case offset(Int)
        /// The content of a request with `Upload-Complete: ?0` has been taken. The response has not begun.
        case part
        /// The upload is complete, and the response to the request that completed it has not begun.
        case completion
        /// The head of a request for the offset has arrived.
        case offsetRetrieval
        /// The head of a request that appends has arrived, and none of its content has been taken.
        case append
        /// A request that cancels the upload has arrived. The upload still exists.
        case cancellation
    }
}

/// A fault, where it happens, and how often it still does.
struct PlannedUploadFault: Sendable {
    let fault: UploadTarget.Fault
    let phase: UploadTarget.Phase
    var left: Int
}
