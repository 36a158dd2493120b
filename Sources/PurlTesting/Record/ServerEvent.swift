extension LoopbackServer {
    /// What happens on a server's side of the wire.
    public enum ServerEvent: Sendable, Hashable, CustomStringConvertible {
        /// A connection was accepted; they are counted from 1.
        case connection(Int)
        /// A handshake of TLS is done.
        case handshake(ReceivedHandshake)
        /// A handshake of TLS has failed.
        case failedHandshake(connection: Int, reason: String)
        /// The head of a request has arrived. The number is ``ReceivedRequest/number``.
        case request(number: Int, method: String, target: String)
        /// The head of the response to the request is about to be sent.
        case response(number: Int, status: Int, reason: String)
        /// The response to the request has ended.
        case ending(number: Int, Ending)

        /// The event in words.
        public var description: String {
            switch self {
            case .connection(let number): "accepts connection \(number)"
            case .handshake(let handshake): "agrees with connection \(handshake.connection) upon \(handshake)"
            case .failedHandshake(let number, let reason): "has no agreement with connection \(number): \(reason)"
            case .request(_, let method, let target): "receives \(method) \(target)"
            case .response(_, let status, let reason): "sends \(status)" + (reason.isEmpty ? "" : " \(reason)")
            case .ending(let number, let ending): "response \(number + 1) has ended: \(ending)"
            }
        }
    }

    /// How a response, or a connection without HTTP, ended.
    public enum Ending: Sendable, Hashable {
        /// The operating system has taken every byte of it.
        case complete
        /// The script closed the connection in the middle (the client sees the end of the stream).
        case cut
        /// The script reset the connection in the middle (the client sees a reset).
        case reset
        /// The client closed or reset the connection first.
        case clientLeft
        /// The server was stopped.
        case serverStopped
    }
}
