internal import PurlIO

/// Where a session's connections come from.
protocol Dialler: Sendable {
    /// Makes a connection; `completion` is called once, never within this call, and never after the dial was cancelled.
    @NetworkActor func dial(
        _ endpoint: Endpoint, completion: @escaping @NetworkActor (Result<StreamSocket, DialError>) -> Void
    ) -> Dial
}

/// From the network, or a socket of this machine.
struct NetworkDialler: Dialler {
    let resolver: any Resolver

    func dial(
        _ endpoint: Endpoint, completion: @escaping @NetworkActor (Result<StreamSocket, DialError>) -> Void
    ) -> Dial {
        Dial(to: endpoint, resolver: resolver, completion: completion)
    }
}
