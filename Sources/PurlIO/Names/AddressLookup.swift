/// The system's blocking look-up of a name.
enum AddressLookup {
    /// The addresses of `host`, in the order in which the system wants them tried (RFC 6724), with port 0.
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
