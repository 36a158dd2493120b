internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// A request whose connection ended before the first byte of a response, and whether it is sent once more on a new one.
///
/// RFC 9112 §9.3.1: the server has closed an idle connection just as it was used again. RFC 9110 §9.2.2: a request whose
/// method is not idempotent may be repeated only if the server cannot have acted on the first one.
struct UnansweredRequest {
    /// How often the request has been sent.
    enum Attempt: Sendable {
        case first
        /// A reused connection has proved dead: this is the attempt on a new one.
        case repeated(after: ExchangeFailure)

        /// Which connection will do for it.
        ///
        /// - Parameter isRecoverable: The server can be asked how much has arrived, as of an upload that resumes.
        func demand(for method: RequestMethod, isRecoverable: Bool) -> ConnectionDemand {
            switch self {
            case .first: method.isIdempotent || isRecoverable ? .any : .lasting
            case .repeated: .new
            }
        }
    }

    var attempt: Attempt
    var method: RequestMethod
    var connectionWasReused: Bool
    var reach: RequestReach
    /// What receiving failed with; `nil` for the end of the stream.
    var error: SystemError?

    var mayBeSentAgain: Bool {
        guard case .first = attempt, connectionWasReused else { return false }
        // A connection that has timed out or has no route any more was not closed: the network is gone, and a new one would
        // only wait again.
        if let error, !error.isClosing { return false }
        return switch reach {
        case .unread: true
        case .perhapsRead, .onItsWay: method.isIdempotent
        }
    }
}

extension UnansweredRequest {
    /// `nil` for a failure after the first byte of a response, or of another kind.
    @NetworkActor
    init?(_ failure: ExchangeFailure, of source: any ResponseSource, attempt: Attempt, method: RequestMethod) {
        guard case .closedBeforeResponse(let error, let reach) = failure else { return nil }
        self.init(
            attempt: attempt, method: method, connectionWasReused: source.isReused, reach: reach, error: error)
    }
}
