import Foundation

/// What Apple's systems take into account when they load a request, and a socket on Linux cannot.
struct RequestHints: Hashable, Codable, Sendable {
    var allowsExpensiveNetworkAccess = true
    var allowsConstrainedNetworkAccess = true
    var allowsUltraConstrainedNetworkAccess = false
    var requiresDNSSECValidation = false
    var assumesHTTP3Capable = false
    var allowsPersistentDNS = false
    var attribution = URLRequest.Attribution.developer
    var cookiePartitionIdentifier: String?
}

extension URLRequest {
    /// Who has initiated a request.
    public enum Attribution: UInt, Codable, Sendable {
        /// The program.
        case developer = 0
        /// The program's user, by a URL for example.
        case user = 1
    }

    /// Whether an interface that the system considers expensive may be used. `true` by default. Kept without effect: a
    /// socket on Linux does not know its interface.
    public var allowsExpensiveNetworkAccess: Bool {
        get { hints.allowsExpensiveNetworkAccess }
        set { hints.allowsExpensiveNetworkAccess = newValue }
    }

    /// Whether an interface in Low Data Mode may be used. `true` by default. Kept without effect: Linux has no such
    /// mode.
    public var allowsConstrainedNetworkAccess: Bool {
        get { hints.allowsConstrainedNetworkAccess }
        set { hints.allowsConstrainedNetworkAccess = newValue }
    }

    /// Whether an interface that is marked as ultra-constrained, such as a satellite's, may be used. `false` by
    /// default. Kept without effect: Linux marks none.
    public var allowsUltraConstrainedNetworkAccess: Bool {
        get { hints.allowsUltraConstrainedNetworkAccess }
        set { hints.allowsUltraConstrainedNetworkAccess = newValue }
    }

    /// Whether the look-up of the host's name has to be validated with DNSSEC. `false` by default. Kept without effect:
    /// the system's resolver validates as far as it is configured to, and does not say whether it has.
    public var requiresDNSSECValidation: Bool {
        get { hints.requiresDNSSECValidation }
        set { hints.requiresDNSSECValidation = newValue }
    }

    /// Whether the server is known to speak HTTP/3. `false` by default. Kept without effect: Purl speaks HTTP/1.1.
    public var assumesHTTP3Capable: Bool {
        get { hints.assumesHTTP3Capable }
        set { hints.assumesHTTP3Capable = newValue }
    }

    /// Whether the addresses of the host may be kept beyond their time to live. `false` by default. Kept without
    /// effect: the system's resolver keeps what it keeps.
    public var allowsPersistentDNS: Bool {
        get { hints.allowsPersistentDNS }
        set { hints.allowsPersistentDNS = newValue }
    }

    /// Who has initiated the request. `.developer` by default. Kept without effect: Linux makes no privacy report of
    /// it.
    public var attribution: Attribution {
        get { hints.attribution }
        set { hints.attribution = newValue }
    }

    /// The partition of the cookie storage that the request uses. Kept without effect: Purl's storages have no
    /// partitions.
    public var cookiePartitionIdentifier: String? {
        get { hints.cookiePartitionIdentifier }
        set { hints.cookiePartitionIdentifier = newValue }
    }
}
