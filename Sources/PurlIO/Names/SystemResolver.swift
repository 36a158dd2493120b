import Synchronization

/// Asks the system, with `getaddrinfo`, on the worker's lane for names. Equal names asked for while a look-up is under
/// way share its result.
package final class SystemResolver: Resolver {
    /// The resolver of this process.
    package static let shared = SystemResolver()

    /// The blocking look-up of one name, whose addresses have port 0.
    typealias Lookup = @Sendable (String) -> Result<[SocketAddress], ResolveError>
    private typealias Completion = @Sendable (Result<[SocketAddress], ResolveError>) -> Void

    private let worker: Worker
    private let lookUp: Lookup
    /// Who waits for each name that is being looked up.
    private let completions = Mutex<[String: [Completion]]>([:])

    init(worker: Worker = .shared, lookUp: @escaping Lookup = { AddressLookup.addresses(of: $0) }) {
        self.worker = worker
        self.lookUp = lookUp
    }

    package func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        let isFirst = completions.withLock { completions in
            let isFirst = completions[host] == nil
            completions[host, default: []].append { result in
                then(result.map { addresses in addresses.map { $0.withPort(port) } })
            }
            return isFirst
        }
        guard isFirst else { return }
        worker.run(on: .names) {
            self.finish(host, self.lookUp(host))
        } orElse: { error in
            self.finish(host, .failure(.failed(host: host, code: error.code, reason: error.description)))
        }
    }

    private func finish(_ host: String, _ result: Result<[SocketAddress], ResolveError>) {
        let completions = completions.withLock { $0.removeValue(forKey: host) ?? [] }
        for completion in completions { completion(result) }
    }
}
