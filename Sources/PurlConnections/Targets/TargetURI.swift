internal import PurlIO

/// A request's target URI (RFC 9110 §7.1) as it goes onto the wire: the server, the request target and the `Host` field.
package struct TargetURI: Sendable {
    /// The server. One request after another goes to the same one, and each target URI is copied several times: so it is
    /// an object, which they share.
    private final class Server: Sendable {
        let origin: Origin
        let hostField: String
        /// The URL's text up to its path, as it was written.
        let beginning: String

        init(_ origin: Origin, hostField: String, beginning: String) {
            self.origin = origin
            self.hostField = hostField
            self.beginning = beginning
        }
    }

    private let server: Server
    /// The origin-form: path and query, percent-encoded (RFC 9112 §3.2.1).
    package let originForm: String

    package var origin: Origin { server.origin }
    /// The `Host` field's value: no port when it is the scheme's own.
    package var hostField: String { server.hostField }
    /// The absolute-form, for a proxy (RFC 9112 §3.2.2): without a user, which is for the server alone.
    package var absoluteForm: String { "\(origin.scheme)://\(hostField)\(originForm)" }

    /// Why a URL cannot be loaded.
    package enum Refusal: Error {
        case noURL
        case noHost
        /// There is no TLS provider.
        case secureScheme(String)
        case unknownScheme(String)
        /// A scheme for another kind of task.
        case wrongTask(String)
        case badAuthority
    }

    /// - Parameter known: The target URI of another request. A URL that begins in the same way has the same origin.
    package init(_ text: String, like known: TargetURI? = nil) throws(Refusal) {
        if let known, let originForm = URLParts.originForm(of: text, after: known.server.beginning) {
            server = known.server
            self.originForm = originForm
            return
        }
        guard let parts = URLParts(text) else { throw .unknownScheme("") }
        switch parts.scheme {
        case "http", "ws", "https", "wss", Origin.localScheme, Origin.streamScheme: break
        default: throw .unknownScheme(parts.scheme)
        }
        guard parts.hasAuthority else { throw .noHost }
        originForm = parts.originForm
        if parts.scheme == Origin.localScheme {
            guard let path = parts.socketPath else { throw .badAuthority }
            server = Server(
                Origin(scheme: parts.scheme, endpoint: .unix(path: path)), hostField: "localhost",
                beginning: parts.beginning)
        } else {
            guard let (host, explicitPort) = parts.hostAndPort else { throw .badAuthority }
            guard !host.isEmpty else { throw .noHost }
            let defaultPort = Origin.defaultPorts[parts.scheme] ?? 80
            let port = explicitPort ?? defaultPort
            server = Server(
                Origin(scheme: parts.scheme, endpoint: .host(host.lowercased(), port: port)),
                hostField: port == defaultPort ? Self.bracketed(host) : "\(Self.bracketed(host)):\(port)",
                beginning: parts.beginning)
        }
    }

    /// A host as fields and request targets have it.
    static func bracketed(_ host: String) -> String {
        guard host.utf8.contains(UInt8(ascii: ":")) else { return host }
        // A scope means something to this machine only and is not sent (RFC 6874 §4).
        return "[\(host.prefix { $0 != "%" })]"
    }
}
