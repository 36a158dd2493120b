/// How an answer ended.
public enum Ending: Sendable, Hashable {
    /// The operating system took every byte of it.
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
