internal import PurlIO

/// Which requests of a session go through a proxy.
struct ProxyRules: Sendable {
    /// A host as patterns see it.
    struct Host {
        /// In small letters, without the dot that may end a full name.
        let name: String
        let port: UInt16
        /// The address, when the host is given in digits.
        let address: SocketAddress?

        init(_ name: String, port: UInt16) {
            let name = name.lowercased()
            self.name = name.hasSuffix(".") ? String(name.dropLast()) : name
            self.port = port
            address = SocketAddress(literal: name, port: port)
        }
    }

    private let plainProxy: Result<Proxy, ProxyFault>?
    private let secureProxy: Result<Proxy, ProxyFault>?
    private let exceptions: [HostPattern]
    private let excludesSimpleNames: Bool

    /// - Parameters:
    ///   - proxy: `nil`: none is used.
    ///   - secure: The same for `https` and `wss`.
    ///   - exceptions: Hosts that are reached without it.
    ///   - excludesSimpleNames: Names without a dot are reached without it, too.
    init(
        _ proxy: Result<Proxy, ProxyFault>? = nil, secure: Result<Proxy, ProxyFault>? = nil,
        except exceptions: [HostPattern] = [], simpleNames: Bool = false
    ) {
        plainProxy = proxy
        secureProxy = secure
        self.exceptions = exceptions
        excludesSimpleNames = simpleNames
    }

    /// The proxy variables of the process's environment.
    ///
    /// `HTTP_PROXY` is none of them: a server that runs a program for a request (RFC 3875 §4.1.18) turns that request's
    /// `Proxy` field into it.
    static var variables: [String: String] {
        let names = [
            "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ]
        return names.reduce(into: [:]) { $0[$1] = Environment.value(of: $1) }
    }

    /// The rules of `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. A variable that is empty counts as missing.
    init(environment: [String: String]) {
        func value(_ names: String...) -> String? { names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } }
        func proxy(_ text: String?) -> Result<Proxy, ProxyFault>? {
            text.map { text in Result { () throws(ProxyFault) in try Proxy(text) } }
        }
        let plain = proxy(value("http_proxy", "all_proxy", "ALL_PROXY"))
        let secure = proxy(value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"))
        guard plain != nil || secure != nil else {
            self.init()
            return
        }
        let exceptions = value("no_proxy", "NO_PROXY")?.split { $0 == "," || $0.isWhitespace } ?? []
        self.init(
            plain, secure: secure,
            except: HostPattern.thisMachine + exceptions.compactMap { HostPattern($0) })
    }

    /// The proxy for a request; `nil` when requests go to the server directly.
    func proxy(for target: TargetURI) throws(ProxyFault) -> Proxy? {
        // No other machine reaches a socket of this one.
        guard let proxy = target.origin.isSecure ? secureProxy : plainProxy,
            case .host(let name, let port) = target.origin.endpoint
        else { return nil }
        let host = Host(name, port: port)
        if excludesSimpleNames, host.address == nil, !host.name.contains(".") { return nil }
        return exceptions.contains { $0.matches(host) } ? nil : try proxy.get()
    }
}
