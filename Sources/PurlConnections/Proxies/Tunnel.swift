package import PurlHTTP
package import PurlIO

/// A tunnel to a server that a proxy is asked for with CONNECT (RFC 9110 §9.3.6).
///
/// The request goes out with `HTTPConnection.start(mayUpgrade: true)`. A response with a status of 2xx opens the tunnel:
/// what is on the other side of the connection is the server then. Any other response is the proxy's refusal, or its
/// challenge.
package struct Tunnel {
    /// The server's host and port: the request target, which has to name the port (RFC 9112 §3.2.3).
    package let authority: String

    /// - Returns: `nil` for a socket of this machine, which no proxy reaches.
    package init?(to server: Endpoint) {
        guard case .host(let host, let port) = server else { return nil }
        authority = "\(TargetURI.bracketed(host)):\(port)"
    }

    /// The request, with those fields of the server's request that concern the proxy.
    package func request(for head: RequestHead) -> RequestHead {
        var request = RequestHead(method: .connect, target: authority, fields: [.host: authority])
        for name in [FieldName.userAgent, .proxyAuthorization] {
            if let value = head.fields[name] { request.fields.append(name, value) }
        }
        return request
    }

    /// Whether a response to the request opens the tunnel.
    package static func isOpen(after status: Int) -> Bool { status / 100 == 2 }
}
