internal import PurlIO

/// How far a request has come whose connection ended before the first byte of a response: what is proved, not what is
/// likely.
///
/// A system acknowledges what has arrived, and a program can read it from then on, and a little before. So:
/// - The end of the stream acknowledges everything that arrived before the server ended it. Where that is nothing of the
///   request, the server's program had read nothing of it, and was not going to answer it.
/// - A reset after that comes from a connection that was closed, or is closed now: nothing will be read.
/// - A reset alone proves nothing, though nothing was acknowledged. A server that reads a request and then resets the
///   connection looks the same as one that closes it and leaves the request unread: systems acknowledge late, and ignore
///   what a reset acknowledges.
package enum RequestReach: Sendable, Hashable {
    /// No byte of it can have been read.
    case unread
    /// It may have been read.
    case perhapsRead
    /// The server has ended its stream without having read a byte; what was sent since then may still arrive.
    case onItsWay

    /// How the connection ended, as receiving shows it.
    enum Ending: Sendable, Hashable {
        case endOfStream
        case failure
    }

    /// - Parameters:
    ///   - bytesSent: How many bytes of the request the transport has taken.
    ///   - delivery: What became of them; `nil` where that is not known.
    init(bytesSent: Int64, ending: Ending, delivery: DeliveryState?) {
        guard bytesSent > 0 else {
            self = .unread
            return
        }
        guard case .endOfStream = ending, let delivery, delivery.unacknowledged >= bytesSent else {
            self = .perhapsRead
            return
        }
        switch delivery.end {
        case .open: self = .onItsWay
        case .reset: self = .unread
        case .failed: self = .perhapsRead
        }
    }
}
