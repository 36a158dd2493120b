package import PurlIO

/// What makes a connection secure, once it has: the transport over which content travels, and what is known of its server.
@NetworkActor
package protocol SecurityLayer: AnyObject {
    var transport: any LoopTransport { get }
    /// Why nothing more can be received or sent, where that is this layer's doing.
    var fault: SecurityFault? { get }
}

/// Why a secure connection is of no use any more.
package enum SecurityFault {
    /// The other side has ended its stream without saying so as the protocol asks: content may be missing.
    case truncated
    case failed(any Error)
}

/// Makes connections secure, and judges their servers.
@NetworkActor
package protocol ConnectionSecurer {
    typealias Completion = @NetworkActor (Result<any SecurityLayer, any Error>) -> Void

    /// Makes a transport to a server secure. `completion` is called once, and never after `cancel`; when it fails, the
    /// transport is closed.
    ///
    /// - Parameter bytes: What has arrived over the transport already.
    func secure(
        _ transport: any LoopTransport, received bytes: [UInt8], to origin: Origin, completion: @escaping Completion
    ) -> any PendingSecurity
}

/// A transport becomes secure.
@NetworkActor
package protocol PendingSecurity: AnyObject {
    /// It waits for the verdict about the server, who is not expected to send anything.
    var isAsking: Bool { get }
    /// Closes the transport and drops the completion. Has no effect when it is over.
    func cancel()
}

/// Watches a connection being made.
package protocol DialWatcher {
    @NetworkActor func watch(_ dial: any Dial, to hop: NextHop)
}
