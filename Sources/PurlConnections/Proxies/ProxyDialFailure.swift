package import PurlHTTP
package import PurlIO

/// Why a proxy has made no connection to a server.
package protocol ProxyFailure: Error, CustomStringConvertible {
    /// Whether the reason lies in the network, and may pass.
    var mayPass: Bool { get }
}

extension SOCKSFailure: ProxyFailure {}

/// A proxy has made no connection to a server.
package struct ProxyDialFailure: Error, CustomStringConvertible {
    package enum Kind: String, Sendable {
        case http = "HTTP"
        case socks = "SOCKS"
    }

    package let kind: Kind
    package let proxy: Endpoint
    package let server: Endpoint
    package let failure: any ProxyFailure

    package init(kind: Kind, proxy: Endpoint, server: Endpoint, failure: any ProxyFailure) {
        self.kind = kind
        self.proxy = proxy
        self.server = server
        self.failure = failure
    }

    /// The failure as that of a dialler.
    package var dialError: DialError { .connector(ThrownError(self)) }

    package var description: String {
        "The \(kind.rawValue) proxy “\(proxy)” made no connection to “\(server)”: \(failure)."
    }
}
