import Foundation

#if PURL
    import Purl
    import PurlTLS
#else
    import FoundationNetworking
#endif

extension URLSessionConfiguration {
    /// The default one. Over Purl it loads https where `TLS_ROOT` names the file of a root.
    static var measured: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        #if PURL
            if let root = ProcessInfo.processInfo.environment["TLS_ROOT"] {
                configuration.tlsProvider = SystemTLS(SystemTLS.Options(roots: .only([.file(root)])))
            }
        #endif
        return configuration
    }
}
