import Foundation
internal import PurlConnections

/// Whether a proxy is used for HTTP: a number, not zero for yes. See ``URLSessionConfiguration/connectionProxyDictionary``.
public let kCFNetworkProxiesHTTPEnable = "HTTPEnable"
/// The host of the proxy for HTTP: a name or an address, or a URL such as `http://user:password@host:port`.
public let kCFNetworkProxiesHTTPProxy = "HTTPProxy"
/// The port of the proxy for HTTP: a number.
public let kCFNetworkProxiesHTTPPort = "HTTPPort"
/// Whether a proxy is used for HTTPS: a number, not zero for yes.
public let kCFNetworkProxiesHTTPSEnable = "HTTPSEnable"
/// The host of the proxy for HTTPS, as that for HTTP. It is spoken to in plain HTTP, and connects to the server.
public let kCFNetworkProxiesHTTPSProxy = "HTTPSProxy"
/// The port of the proxy for HTTPS: a number.
public let kCFNetworkProxiesHTTPSPort = "HTTPSPort"
/// Whether a SOCKS proxy is used: a number, not zero for yes. One for HTTP goes before it.
public let kCFNetworkProxiesSOCKSEnable = "SOCKSEnable"
/// The host of the SOCKS proxy: a name or an address, or a URL such as `socks5://user:password@host:port`.
public let kCFNetworkProxiesSOCKSProxy = "SOCKSProxy"
/// The port of the SOCKS proxy: a number; 1080 where it is missing.
public let kCFNetworkProxiesSOCKSPort = "SOCKSPort"
/// The user for the SOCKS proxy, as `SOCKSUser`: a text.
public let kCFStreamPropertySOCKSUser = "kCFStreamPropertySOCKSUser"
/// The password for the SOCKS proxy, as `SOCKSPassword`: a text.
public let kCFStreamPropertySOCKSPassword = "kCFStreamPropertySOCKSPassword"
/// The hosts that are reached without a proxy: a list of texts.
public let kCFNetworkProxiesExceptionsList = "ExceptionsList"
/// Whether hosts without a dot in their names are reached without a proxy: a number, not zero for yes.
public let kCFNetworkProxiesExcludeSimpleHostnames = "ExcludeSimpleHostnames"

/// A configuration's proxy dictionary, in types that any thread may read.
struct ProxyDictionary: Sendable {
    private enum Value: Sendable {
        case number(Int)
        case text(String)
        case list([String])
    }

    private let values: [String: Value]

    init(_ dictionary: [AnyHashable: Any]) {
        let pairs = dictionary.map { ("\($0.key.base)", Self.value($0.value)) }
        values = Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// The dictionary as the program reads it.
    var dictionary: [AnyHashable: Any] {
        values.mapValues { value -> Any in
            switch value {
            case .number(let number): number
            case .text(let text): text
            case .list(let list): list
            }
        }
    }

    private static func value(_ value: Any) -> Value {
        switch value {
        case let flag as Bool: .number(flag ? 1 : 0)
        case let number as any BinaryInteger: Int(exactly: number).map { .number($0) } ?? .text("\(number)")
        case let number as NSNumber: Int(exactly: number.doubleValue).map { .number($0) } ?? .text("\(number)")
        case let text as String: .text(text)
        case let list as [Any]: .list(list.map { "\($0)" })
        default: .text("\(value)")
        }
    }

    // MARK: Reading

    func text(_ key: String) throws(ProxyFault) -> String? {
        switch values[key] {
        case nil: nil
        case .text(let text): text
        case .number(let number): throw .badValue(key: key, value: "\(number)")
        case .list: throw .badValue(key: key, value: "a list")
        }
    }

    /// The user or the password of the first of these keys that is there. One of digits may be a number.
    func credential(_ keys: String...) throws(ProxyFault) -> String? {
        guard let key = keys.first(where: { values[$0] != nil }) else { return nil }
        if case .number(let number) = values[key] { return "\(number)" }
        return try text(key)
    }

    func number(_ key: String) throws(ProxyFault) -> Int? {
        switch values[key] {
        case nil: return nil
        case .number(let number): return number
        case .text(let text):
            guard let number = Int(text) else { throw .badValue(key: key, value: text) }
            return number
        case .list: throw .badValue(key: key, value: "a list")
        }
    }

    func list(_ key: String) throws(ProxyFault) -> [String] {
        switch values[key] {
        case nil: return []
        case .list(let list): return list
        case .text(let text): return text.split(separator: ",").map { String($0) }
        case .number(let number): throw .badValue(key: key, value: "\(number)")
        }
    }
}

extension ProxyDictionary {
    /// The proxy for `HTTP` or `HTTPS`: the one of that kind before the one that speaks SOCKS; `nil` when none is enabled.
    fileprivate func proxy(_ kind: String) -> Result<Proxy, ProxyFault>? {
        do throws(ProxyFault) {
            if let proxy = try httpProxy(kind) { return .success(proxy) }
            if let proxy = try socksProxy() { return .success(proxy) }
            try rejectOtherKinds()
            return nil
        } catch {
            return .failure(error)
        }
    }

    private func httpProxy(_ kind: String) throws(ProxyFault) -> Proxy? {
        guard try number("\(kind)Enable") ?? 0 != 0 else { return nil }
        guard let host = try text("\(kind)Proxy"), !host.isEmpty else { throw .noHost }
        return .http(
            try HTTPProxy(
                host, port: try number("\(kind)Port"),
                user: try credential("\(kind)ProxyUsername", "kCFProxyUsernameKey"),
                password: try credential("\(kind)ProxyPassword", "kCFProxyPasswordKey")))
    }

    private func socksProxy() throws(ProxyFault) -> Proxy? {
        guard try number(kCFNetworkProxiesSOCKSEnable) ?? 0 != 0 else { return nil }
        guard let host = try text(kCFNetworkProxiesSOCKSProxy), !host.isEmpty else { throw .noHost }
        return .socks(
            try SOCKSProxy(
                host, port: try number(kCFNetworkProxiesSOCKSPort),
                user: try credential("SOCKSUser", kCFStreamPropertySOCKSUser, "kCFProxyUsernameKey"),
                password: try credential("SOCKSPassword", kCFStreamPropertySOCKSPassword, "kCFProxyPasswordKey")))
    }

    /// A session that is to use a proxy of another kind must not load without one.
    private func rejectOtherKinds() throws(ProxyFault) {
        for key in ["ProxyAutoConfigEnable", "ProxyAutoDiscoveryEnable"] where try number(key) ?? 0 != 0 {
            throw .unknownKind(key: key)
        }
    }
}

extension ProxyRules {
    init(_ dictionary: ProxyDictionary) {
        let (plain, secure) = (dictionary.proxy("HTTP"), dictionary.proxy("HTTPS"))
        guard plain != nil || secure != nil else {
            self.init()
            return
        }
        do throws(ProxyFault) {
            self.init(
                plain, secure: secure,
                except: try dictionary.list(kCFNetworkProxiesExceptionsList).compactMap { HostPattern($0) },
                simpleNames: try dictionary.number(kCFNetworkProxiesExcludeSimpleHostnames) ?? 0 != 0)
        } catch {
            self.init(.failure(error), secure: .failure(error))
        }
    }
}
