extension SocketAddress.Storage {
    /// Four decimal numbers with dots between them, and nothing else.
    init?(ipv4 text: String, port: UInt16) {
        var address: UInt32 = 0
        guard Self.parse(text, family: AF_INET, into: &address) else { return nil }
        self = .ipv4(address, port: port)
    }

    /// RFC 4291 §2.2, with or without brackets, and with a scope after `%` (RFC 4007 §11): an interface's name or number.
    init?(ipv6 text: String, port: UInt16) {
        var text = text[...]
        if text.first == "[", text.last == "]" { text = text.dropFirst().dropLast() }
        var scope: UInt32 = 0
        if let percent = text.firstIndex(of: "%") {
            let zone = String(text[text.index(after: percent)...])
            guard let number = Self.scope(named: zone) else { return nil }
            scope = number
            text = text[..<percent]
        }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        guard Self.parse(String(text), family: AF_INET6, into: &halves) else { return nil }
        self = .ipv6(high: halves.high, low: halves.low, port: port, scope: scope)
    }

    private static func parse<Bytes: BitwiseCopyable>(_ text: String, family: Int32, into bytes: inout Bytes) -> Bool {
        // A NUL would end the text early for `inet_pton`, which then takes it for something it is not.
        !text.utf8.contains(0) && inet_pton(family, text, &bytes) == 1
    }

    private static func scope(named zone: String) -> UInt32? {
        if zone.isEmpty || zone.utf8.contains(0) { return nil }
        if zone.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return UInt32(zone) }
        let index = if_nametoindex(zone)
        return index == 0 ? nil : index
    }
}

extension SocketAddress {
    /// The address in digits, or the path.
    var literal: String {
        switch storage {
        case .ipv4(var address, _): Self.text(of: &address, family: AF_INET)
        case .ipv6(let high, let low, _, let scope): Self.text(high, low) + Self.suffix(scope)
        case .unix(let path): path
        }
    }

    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        var halves = (high, low)
        return text(of: &halves, family: AF_INET6)
    }

    private static func text<Bytes: BitwiseCopyable>(of bytes: inout Bytes, family: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            inet_ntop(family, &bytes, buffer.baseAddress, 64).map { String(cString: $0) } ?? ""
        }
    }

    private static func suffix(_ scope: UInt32) -> String {
        if scope == 0 { return "" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            // The interface may be gone; its number still says which it was.
            if_indextoname(scope, buffer.baseAddress).map { "%" + String(cString: $0) } ?? "%\(scope)"
        }
    }
}
