import Foundation
internal import PurlConnections
internal import PurlIO

/// What can end a stream task, or one of its reads and writes, beside what can end every transfer.
enum StreamFailure: Error {
    /// The host and the port are not those of a server.
    case badAddress(host: String, port: Int)
    /// The proxy did not open a way to the server.
    case tunnelRefused(status: Int)
    /// The response did not come over a connection, or not over one of its own.
    case noConnection
    /// The streams of a connection were asked for that has no socket of its own.
    case noSocket
    /// TLS was asked for, and there is no provider.
    case noTLSProvider
    /// The connection could not be made secure, or has failed since.
    case tls(TLSFailure)
    /// The streams of a secure connection were asked for, which has none of the system's.
    case secureStreams
    /// A secure connection ended without the sign of its end.
    case truncated
    /// A read or a write did not finish in the time it had.
    case timedOut(reading: Bool)
    /// The stream has been closed for reading, or for writing.
    case closed(reading: Bool)
    /// A write ended in the middle, so nothing can follow it.
    case cutShort
    /// The connection broke.
    case lost(SystemError?)
    /// The streams belong to the delegate.
    case captured
    /// The task is over.
    case over

    var explanation: (code: URLError.Code, sentence: String, underlying: (any Error)?) {
        switch self {
        case .badAddress(let host, let port):
            (.badURL, "“\(host)” and \(port) are not the host and the port of a server.", nil)
        case .tunnelRefused(let status): TunnelFailure.explanation(ofStatus: status)
        case .noConnection:
            (.resourceUnavailable, "The response has no connection that could become a stream.", nil)
        case .noSocket:
            (
                .resourceUnavailable,
                "The connection's streams cannot be captured: it is carried by a transport that is not a socket.", nil
            )
        case .noTLSProvider:
            (
                .unsupportedURL,
                "A secure connection needs a TLS provider, and the session has none: \(TLSFailure.howToProvide).", nil
            )
        case .tls(let failure): failure.explanation
        case .secureStreams:
            (.resourceUnavailable, "A secure connection cannot become streams of Foundation's.", nil)
        case .truncated:
            (
                .networkConnectionLost, "The connection ended without TLS's close_notify; bytes may be missing.",
                POSIXError(.ECONNRESET)
            )
        case .timedOut(let reading):
            (.timedOut, "The \(reading ? "read" : "write") took more than the time it had.", nil)
        case .closed(let reading):
            (
                .networkConnectionLost, "The stream is closed for \(reading ? "reading" : "writing").",
                POSIXError(.ENOTCONN)
            )
        case .cutShort:
            (.networkConnectionLost, "An earlier write could not be finished, so nothing can follow it.", nil)
        case .lost(let error):
            (.networkConnectionLost, "The connection was lost.", error ?? POSIXError(.ECONNRESET))
        case .captured:
            (.networkConnectionLost, "The task's streams have been captured.", POSIXError(.ENOTCONN))
        case .over:
            (.networkConnectionLost, "The stream task is over.", POSIXError(.ENOTCONN))
        }
    }
}
