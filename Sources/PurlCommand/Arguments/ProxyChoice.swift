import Purl

/// Through whom requests go.
enum ProxyChoice: Equatable {
    /// Whoever `http_proxy` names, except where `no_proxy` forbids it.
    case environment
    case none
    /// A host, or a URL.
    case named(String)

    func apply(to configuration: URLSessionConfiguration) {
        switch self {
        case .environment: configuration.usesEnvironmentProxies = true
        case .none: break
        case .named(let proxy):
            configuration.connectionProxyDictionary = [
                kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: proxy,
            ]
        }
    }
}
