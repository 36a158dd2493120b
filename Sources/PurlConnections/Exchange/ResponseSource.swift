package import PurlHTTP
package import PurlIO

/// Where a response comes from: a connection, or this process itself.
@NetworkActor
package protocol ResponseSource: AnyObject {
    /// The response comes from a server, just now: its cookies and challenges count, and its content may be coded.
    var isRemote: Bool { get }
    /// An earlier exchange used the same connection.
    var isReused: Bool { get }
    /// Stops or continues to deliver.
    var isPaused: Bool { get set }
    /// Nothing is expected of the server now: the request's body, or the session's byte rate, delays the exchange.
    var mayBeIdle: Bool { get }
    /// Ends the exchange at once, without another call to its client.
    func abandon()
    /// Ends the exchange, and hands over the connection it used, with the bytes that have arrived and were not
    /// reported; `nil`, and nothing ends, when there is none.
    func surrender() -> (transport: any LoopTransport, surplus: [UInt8])?
}

extension ResponseSource {
    package func surrender() -> (transport: any LoopTransport, surplus: [UInt8])? { nil }
}

/// Receives what an exchange reports, in this order: the response, its bytes, then exactly one of `didFinish` and
/// `didFail`.
@NetworkActor
package protocol ExchangeClient: AnyObject {
    /// Bytes arrived, of whatever part of a message, or may be moved after a wait that was not the server's doing.
    func exchangeMadeProgress(_ source: any ResponseSource)
    /// An interim response (1xx); the final one is still to come.
    func exchange(_ source: any ResponseSource, didReceiveInterim head: ResponseHead)
    func exchange(_ source: any ResponseSource, didReceive head: ResponseHead, framing: BodyFraming)
    func exchange(_ source: any ResponseSource, didReceive bytes: UnsafeRawBufferPointer)
    /// Content went into the pipe that the client gave for it.
    func exchange(_ source: any ResponseSource, didMoveContent count: Int)
    func exchange(_ source: any ResponseSource, didSendBodyBytes count: Int)
    /// The connection speaks another protocol from here on, and has left the pool. In place of any other call about the
    /// response.
    func exchange(
        _ source: any ResponseSource, didSwitchTo transport: any LoopTransport, with head: ResponseHead,
        surplus: [UInt8])
    func exchangeDidFinish(_ source: any ResponseSource)
    func exchange(_ source: any ResponseSource, didFailWith failure: ExchangeFailure)
}
