import Foundation
import Purl

/// A header field of `-H`.
struct HeaderOption: Equatable {
    let name: String
    let value: String

    init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// - Parameters:
    ///   - line: `NAME: VALUE`.
    ///   - topic: The help text to print with an error.
    init(line: String, _ topic: Usage) throws(UsageError) {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw UsageError("“\(line)” is not a header field such as 'Name: value'.", topic)
        }
        name = String(line[..<colon])
        // Another range would contradict the one that resumes from FILE.part.
        guard !["range", "if-range"].contains(name.lowercased()) else {
            throw UsageError("“\(name)” is set by purl itself.", topic)
        }
        value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
}

/// How much is printed.
enum Verbosity: Equatable {
    /// Errors only.
    case quiet
    case normal
    /// Also requests, responses and delegate calls.
    case verbose
}

/// The proxy of `--proxy` and `--no-proxy`.
enum ProxyChoice: Equatable {
    /// The session's default: the one in `http_proxy` or `all_proxy`, except for the hosts in `no_proxy`.
    case environment
    case none
    /// A host or a URL.
    case named(String)

    func apply(to configuration: URLSessionConfiguration) {
        switch self {
        case .environment: break
        case .none: configuration.connectionProxyDictionary = [:]
        case .named(let proxy) where Self.speaksSOCKS(proxy):
            configuration.connectionProxyDictionary = [
                kCFNetworkProxiesSOCKSEnable: 1, kCFNetworkProxiesSOCKSProxy: proxy,
            ]
        case .named(let proxy):
            configuration.connectionProxyDictionary = [
                kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: proxy,
                kCFNetworkProxiesHTTPSEnable: 1, kCFNetworkProxiesHTTPSProxy: proxy,
            ]
        }
    }

    private static func speaksSOCKS(_ proxy: String) -> Bool {
        ["socks5://", "socks5h://"].contains { proxy.lowercased().hasPrefix($0) }
    }
}

/// The bytes a second of `--limit-rate`: `500000`, `200K`, `1.5M`.
struct ByteRate: Equatable {
    let bytesPerSecond: Int

    /// `nil` for a text that is not a rate of at least one byte a second. The suffixes K, M and G, in either case, are
    /// powers of 1024, as with curl and wget.
    init?(_ text: String) {
        var number = Substring(text)
        let factor: Double
        switch number.last {
        case "k", "K": factor = 1024
        case "m", "M": factor = 1024 * 1024
        case "g", "G": factor = 1024 * 1024 * 1024
        default: factor = 1
        }
        if factor > 1 { number = number.dropLast() }
        // `Double` would also accept exponents, infinity, hexadecimal digits and signs.
        guard number.first?.isNumber == true, number.allSatisfy({ $0 == "." || ("0"..."9").contains($0) }),
            let value = Double(number), let bytes = Int(exactly: (value * factor).rounded()), bytes >= 1
        else { return nil }
        bytesPerSecond = bytes
    }
}

extension ArraySlice<String> {
    /// Removes and returns the word after an option: its value.
    mutating func takeValue(of option: String, _ topic: Usage) throws(UsageError) -> String {
        guard let value = popFirst() else { throw UsageError("“\(option)” needs a value.", topic) }
        return value
    }
}

extension Verbosity? {
    /// Takes “-q” or “-v”, as often as it is given.
    mutating func take(_ wanted: Verbosity, _ topic: Usage) throws(UsageError) {
        guard self == nil || self == wanted else {
            throw UsageError("“-q” and “-v” contradict each other.", topic)
        }
        self = wanted
    }
}

extension ProxyChoice? {
    /// Takes “--proxy” or “--no-proxy”.
    mutating func take(_ wanted: ProxyChoice, _ topic: Usage) throws(UsageError) {
        if case .named("") = wanted { throw UsageError("“--proxy” needs a host or a URL.", topic) }
        guard self == nil || self == wanted else {
            throw UsageError("Give either “--proxy” or “--no-proxy”, and only once.", topic)
        }
        self = wanted
    }
}
