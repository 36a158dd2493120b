/// Turns names into addresses.
package protocol Resolver: Sendable {
    /// Looks `host` up and calls `then` once, on any thread, with its addresses in the order to try them.
    func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void)
}
