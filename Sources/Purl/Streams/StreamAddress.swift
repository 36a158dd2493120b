import Foundation
internal import PurlConnections
internal import PurlIO

/// The address of a stream's server: a host and a port, as a URL for use inside this library.
enum StreamAddress {
    /// The characters that end a host's name in a URL, so that no host has them.
    private static let forbidden = Set("/?#@\\[]%<>\"^`{|}".utf8)

    /// - Parameters:
    ///   - host: A name, or an address in digits; an IPv6 address with or without brackets.
    ///   - port: 1 to 65535.
    /// - Returns: `nil` when they cannot be those of a server.
    static func url(host: String, port: Int) -> URL? {
        guard let port = UInt16(exactly: port), port > 0 else { return nil }
        var host = host
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        if isBracketed { host = String(host.dropFirst().dropLast()) }
        if isBracketed || host.contains(":") {
            guard SocketAddress(literal: host, port: port)?.family == .ipv6 else { return nil }
            // RFC 6874: a scope's sign is written like this in a URL.
            return URL(string: "\(Origin.streamScheme)://[\(host.replacing("%", with: "%25"))]:\(port)")
        }
        // RFC 1035 §2.3.4, and the dot that may end a full name.
        guard !host.isEmpty, host.utf8.count <= 254 else { return nil }
        guard host.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !forbidden.contains($0) }) else { return nil }
        return URL(string: "\(Origin.streamScheme)://\(host):\(port)")
    }
}
