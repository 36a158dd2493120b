/// Looks names up with a program's resolver.
package struct ProvidedResolver: Resolver {
    private let resolver: any HostResolver

    package init(_ resolver: any HostResolver) {
        self.resolver = resolver
    }

    package func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) -> Task<Void, Never>? {
        Task.detached { [resolver] in
            do {
                then(Self.addresses(try await resolver.addresses(of: host), of: host, port: port))
            } catch {
                then(.failure(.thrown(host: host, ThrownError(error))))
            }
        }
    }

    /// The addresses in digits as a dial takes them.
    private static func addresses(
        _ texts: [String], of host: String, port: UInt16
    ) -> Result<[SocketAddress], ResolveError> {
        Result { () throws(ResolveError) in
            try texts.map { text throws(ResolveError) in
                guard let address = SocketAddress(literal: text, port: port) else {
                    throw .notAnAddress(host: host, text: text)
                }
                return address
            }
        }
    }
}
