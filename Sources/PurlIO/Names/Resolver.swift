import Synchronization

/// Turns names into addresses.
package protocol Resolver: Sendable {
    /// Looks up `host` and calls `then` once, on any thread, with its addresses in the order in which to try them.
    ///
    /// - Returns: What to cancel when the addresses are no longer wanted; `nil` where that spares nothing.
    @discardableResult
    func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) -> Task<Void, Never>?
}

/// Why a name has no address.
package enum ResolveError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no such name, or it has no address.
    case noSuchName(host: String)
    /// The look-up failed. `code` is one of `getaddrinfo`'s, or an `errno` when a system call failed.
    case failed(host: String, code: Int32, reason: String)
    /// The program's resolver has failed with this error.
    case thrown(host: String, ThrownError)
    /// The program's resolver has given an address that is not one in digits.
    case notAnAddress(host: String, text: String)

    package var description: String {
        switch self {
        case .noSuchName(let host): "\(host): no such name"
        case .failed(let host, _, let reason): "\(host): \(reason)"
        case .thrown(let host, let error): "\(host): \(error)"
        case .notAnAddress(let host, let text): "\(host): “\(text)” is not an address in digits"
        }
    }
}

/// The live resolver: `getaddrinfo` on the worker's lane for names. Requests for a name that is being looked up share the
/// result, so that a name that hangs occupies one thread, however often it is asked for.
package final class SystemResolver: Resolver {
    /// The resolver of this process.
    package static let shared = SystemResolver()

    /// The blocking look-up of one name, whose addresses have port 0.
    typealias Lookup = @Sendable (String) -> Result<[SocketAddress], ResolveError>
    private typealias Completion = @Sendable (Result<[SocketAddress], ResolveError>) -> Void

    private let worker: Worker
    private let lookUp: Lookup
    /// The completions of each name that is being looked up.
    private let completions = Mutex<[String: [Completion]]>([:])

    init(worker: Worker = .shared, lookUp: @escaping Lookup = { AddressLookup.addresses(of: $0) }) {
        self.worker = worker
        self.lookUp = lookUp
    }

    @discardableResult
    package func resolve(
        _ host: String, port: UInt16, then: @escaping @Sendable (Result<[SocketAddress], ResolveError>) -> Void
    ) -> Task<Void, Never>? {
        guard !LoopbackName.contains(host) else {
            then(.success(LoopbackName.addresses(port: port)))
            return nil
        }
        if let machine = Simulated.machine {
            machine.resolve(host, port: port, then: then)
            return nil
        }
        let isFirst = completions.withLock { completions in
            let isFirst = completions[host] == nil
            completions[host, default: []].append { result in
                then(result.map { addresses in addresses.map { $0.withPort(port) } })
            }
            return isFirst
        }
        // Others may wait for the same name, and a call of `getaddrinfo` cannot be ended.
        guard isFirst else { return nil }
        worker.run(on: .names) {
            self.finish(host, self.lookUp(host))
        } orElse: { error in
            self.finish(host, .failure(.failed(host: host, code: error.code, reason: error.description)))
        }
        return nil
    }

    private func finish(_ host: String, _ result: Result<[SocketAddress], ResolveError>) {
        let completions = completions.withLock { $0.removeValue(forKey: host) ?? [] }
        for completion in completions { completion(result) }
    }
}

/// The names of this machine (RFC 6761 §6.3): `localhost` and those below it, whatever the system's files and servers say.
enum LoopbackName {
    static func contains(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        return labels.last?.lowercased() == "localhost" && labels.allSatisfy { !$0.isEmpty && !$0.utf8.contains(0) }
    }

    /// Both families, IPv6 first as the system has it (RFC 6724).
    static func addresses(port: UInt16) -> [SocketAddress] {
        [.loopback6(port: port), .loopback(port: port)]
    }
}

/// The system's look-up of a name, which blocks.
enum AddressLookup {
    /// The addresses of `host` in the order in which to try them (RFC 6724), with port 0.
    static func addresses(of host: String) -> Result<[SocketAddress], ResolveError> {
        // A NUL would end the name early: another name would be looked up.
        if host.isEmpty || host.utf8.contains(0) { return .failure(.noSuchName(host: host)) }
        var hints = Platform.resolverHints()
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, nil, &hints, &list)
        defer { if let list { freeaddrinfo(list) } }
        if code != 0 { return .failure(failure(host, code)) }

        var addresses: [SocketAddress] = []
        var next = list
        while let entry = next?.pointee {
            if let address = entry.ai_addr, let parsed = SocketAddress(address, length: Int(entry.ai_addrlen)) {
                addresses.append(parsed)
            }
            next = entry.ai_next
        }
        return addresses.isEmpty ? .failure(.noSuchName(host: host)) : .success(addresses)
    }

    private static func failure(_ host: String, _ code: Int32) -> ResolveError {
        if Platform.meansNoSuchName(code) { return .noSuchName(host: host) }
        if code == EAI_SYSTEM {
            let error = SystemError.last("getaddrinfo")
            return .failed(host: host, code: error.code, reason: error.description)
        }
        return .failed(
            host: host, code: code, reason: gai_strerror(code).map { String(cString: $0) } ?? "error \(code)")
    }
}
