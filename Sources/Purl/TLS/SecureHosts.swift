import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// The hosts that want to be reached over secure connections alone (RFC 6797), for as long as the session lives.
@NetworkActor
final class SecureHosts {
    private struct Policy {
        let end: MonotonicTime
        let includesSubdomains: Bool
    }

    /// A session that loads from more hosts forgets those whose time ends first.
    private static let limit = 4096

    private var policies: [String: Policy] = [:]
    private let clock: SessionClock

    nonisolated init(_ clock: SessionClock) {
        self.clock = clock
    }

    /// A server may ask, over a secure connection that nothing was overlooked for, to be reached over such ones alone (§8.1).
    func learn(from head: ResponseHead, of url: URL, over source: any ResponseSource) {
        guard let connection = source as? HTTPConnection, let security = connection.security,
            security.isTrusted, security.result.isServerVerified,
            let field = StrictTransportSecurity(head.fields)
        else { return }
        take(field, from: url)
    }

    /// A response with this field has come over a secure connection that nothing was overlooked for (§8.1).
    func take(_ field: StrictTransportSecurity, from url: URL) {
        guard let host = Self.name(of: url) else { return }
        guard field.maxAge > 0 else {
            policies[host] = nil
            return
        }
        makeRoom(for: host)
        let end = clock.now + .seconds(field.maxAge)
        policies[host] = Policy(end: end, includesSubdomains: field.includesSubdomains)
    }

    func removeAll() { policies = [:] }

    /// The secure form of a URL whose host wants it (§8.3); `nil` when the URL is to be loaded as it is.
    func secureForm(of url: URL) -> URL? {
        guard !policies.isEmpty, let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "ws",
            let host = Self.name(of: url), covers(host),
            var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
        else { return nil }
        parts.scheme = scheme == "http" ? "https" : "wss"
        if parts.port == 80 { parts.port = nil }
        return parts.url
    }

    /// §8.2: the host itself, or one above it whose policy includes it.
    private func covers(_ host: String) -> Bool {
        let now = clock.now
        var name = host[...]
        while true {
            if let policy = policies[String(name)], policy.end > now,
                policy.includesSubdomains || name.count == host.count
            {
                return true
            }
            guard let dot = name.firstIndex(of: ".") else { return false }
            name = name[name.index(after: dot)...]
        }
    }

    private func makeRoom(for host: String) {
        guard policies.count >= Self.limit, policies[host] == nil else { return }
        let now = clock.now
        policies = policies.filter { $0.value.end > now }
        guard policies.count >= Self.limit, let first = policies.min(by: { $0.value.end < $1.value.end }) else {
            return
        }
        policies[first.key] = nil
    }

    /// The host's name; `nil` for an address, which has no policy (§8.1.1).
    private static func name(of url: URL) -> String? {
        guard let origin = Origin(url), case .host(let host, _) = origin.endpoint, !host.isEmpty,
            SocketAddress(literal: host, port: 0) == nil
        else { return nil }
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }
}
