import Foundation

/// Whether a proxy is used for HTTP: a number, not zero for yes. See ``URLSessionConfiguration/connectionProxyDictionary``.
public let kCFNetworkProxiesHTTPEnable = "HTTPEnable"
/// The host of the proxy for HTTP: a name or an address, or a URL such as `http://user:password@host:port`.
public let kCFNetworkProxiesHTTPProxy = "HTTPProxy"
/// The port of the proxy for HTTP: a number.
public let kCFNetworkProxiesHTTPPort = "HTTPPort"
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

    /// What users read.
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

    /// The value of the first of these keys that is there.
    func text(_ keys: String...) throws(ProxyFault) -> String? {
        guard let key = keys.first(where: { values[$0] != nil }) else { return nil }
        return switch values[key] {
        case nil: nil
        case .text(let text): text
        case .number(let number): throw .badValue(key: key, value: "\(number)")
        case .list: throw .badValue(key: key, value: "a list")
        }
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

extension ProxyRules {
    init(_ dictionary: ProxyDictionary) {
        do throws(ProxyFault) {
            let isEnabled = try dictionary.number(kCFNetworkProxiesHTTPEnable) ?? 0 != 0
            guard isEnabled else {
                // A session that is to use a proxy of another kind must not load without one.
                for key in ["SOCKSEnable", "ProxyAutoConfigEnable", "ProxyAutoDiscoveryEnable"]
                where try dictionary.number(key) ?? 0 != 0 {
                    throw .unknownKind(key: key)
                }
                self.init()
                return
            }
            guard let host = try dictionary.text(kCFNetworkProxiesHTTPProxy), !host.isEmpty else { throw .noHost }
            let proxy = try HTTPProxy(
                host, port: try dictionary.number(kCFNetworkProxiesHTTPPort),
                user: try dictionary.text("HTTPProxyUsername", "kCFProxyUsernameKey"),
                password: try dictionary.text("HTTPProxyPassword", "kCFProxyPasswordKey"))
            self.init(
                .success(proxy),
                except: try dictionary.list(kCFNetworkProxiesExceptionsList).compactMap { HostPattern($0) },
                simpleNames: try dictionary.number(kCFNetworkProxiesExcludeSimpleHostnames) ?? 0 != 0)
        } catch {
            self.init(.failure(error))
        }
    }
}
