internal import PurlIO

/// The server's side of a connection that speaks something else than HTTP.
@NetworkActor
protocol Peer: AnyObject {
    /// Begins, with what the client has sent already.
    func start(with bytes: [UInt8])
    /// The connection is about to be closed for other reasons.
    func close(_ ending: Ending)
}
