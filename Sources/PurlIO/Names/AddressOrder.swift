/// The order in which addresses are tried.
enum AddressOrder {
    /// RFC 8305 §4: the families take turns, beginning with that of the first address; otherwise the order stays.
    /// An address that comes twice is tried once.
    static func interleaved(_ addresses: [SocketAddress]) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        var seen: Set<SocketAddress> = []
        let unique = addresses.filter { seen.insert($0).inserted }
        let leading = unique.filter { $0.family == first.family }
        let following = unique.filter { $0.family != first.family }

        var ordered: [SocketAddress] = []
        ordered.reserveCapacity(unique.count)
        for position in 0..<max(leading.count, following.count) {
            if position < leading.count { ordered.append(leading[position]) }
            if position < following.count { ordered.append(following[position]) }
        }
        return ordered
    }
}
