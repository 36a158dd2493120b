import Synchronization

/// Asks the system, with `getaddrinfo`, on threads of its own: up to eight at once, each gone when nothing is left to
/// look up. Equal names asked for while a look-up is under way share its answer.
package final class SystemResolver: Resolver {
    /// The resolver of this process.
    package static let shared = SystemResolver()

    /// The blocking look-up of one name; ports are of no interest to it.
    typealias Lookup = @Sendable (String) -> Result<[SocketAddress], ResolveError>

    private let lookUp: Lookup
    private let queue = Mutex(LookupQueue())

    init(lookUp: @escaping Lookup = { AddressLookup.addresses(of: $0) }) {
        self.lookUp = lookUp
    }

    package func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) {
        let needsWorker = queue.withLock { queue in
            queue.add(host) { result in
                then(result.map { addresses in addresses.map { $0.withPort(port) } })
            }
        }
        if needsWorker { startWorker() }
    }

    private func startWorker() {
        if NativeThread.start("purl-names", { self.work() }) { return }
        // Without a thread the remaining workers do it later; without any worker nobody would.
        let orphans = queue.withLock { $0.workerDidNotStart() }
        for orphan in orphans {
            let reason = SystemError(code: EAGAIN, operation: "pthread_create")
            orphan.then(.failure(.failed(host: orphan.host, code: reason.code, reason: reason.description)))
        }
    }

    private func work() {
        while let host = queue.withLock({ $0.next() }) {
            let result = lookUp(host)
            for then in queue.withLock({ $0.finish(host) }) {
                then(result)
            }
        }
    }
}
