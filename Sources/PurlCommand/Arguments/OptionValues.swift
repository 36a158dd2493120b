import Foundation
import Purl
import PurlHTTP

/// A header field of `-H`.
struct HeaderOption: Equatable {
    let name: String
    let value: String

    init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// - Parameter line: `NAME: VALUE`.
    init(line: String) throws(BadValue) {
        guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
            throw BadValue("needs a header field such as 'Name: value', not “\(line)”")
        }
        name = String(line[..<colon])
        // Another range would contradict the one that resumes from FILE.part.
        guard !["range", "if-range"].contains(name.lowercased()) else {
            throw BadValue("cannot set “\(name)”: purl does that itself")
        }
        // What comes from a file may have its line's end.
        value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
        guard !value.contains(where: \.isNewline) else {
            throw BadValue("needs a header field in one line, and “\(name)” has several")
        }
    }
}

extension URLRequest {
    /// Adds the fields of `-H`; several of one name become one.
    mutating func add(_ headers: [HeaderOption]) {
        for header in headers {
            // RFC 6265 §4.2.1: a comma does not separate cookies.
            if header.name.lowercased() == "cookie", let cookies = value(forHTTPHeaderField: header.name) {
                setValue("\(cookies); \(header.value)", forHTTPHeaderField: header.name)
            } else {
                addValue(header.value, forHTTPHeaderField: header.name)
            }
        }
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
    /// The session's default: the one in `http_proxy`, `https_proxy` or `all_proxy`, except for the hosts in `no_proxy`.
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

/// A URL that a user has written.
enum URLWord {
    /// The schemes that are loaded.
    static let loadedSchemes = ["http", "https"]

    private static let ports = 1...65535

    /// The URL that a word is; `nil` when it is none, its scheme is another or misspelt, or no server can have its port.
    static func url(_ word: String, schemes: [String] = loadedSchemes) -> URL? {
        guard word.contains("://"), let url = URL(string: word), let scheme = url.scheme?.lowercased(),
            schemes.contains(scheme), url.port.map(ports.contains) ?? true
        else { return nil }
        return url
    }

    private static let schemes = ["http", "https", "ws", "wss"]

    /// The URL that a word which is none may be meant as: in quotation marks, with a misspelt scheme, or without one.
    ///
    /// - Parameter scheme: The scheme that a word without one has.
    static func nearest(_ word: String, scheme: String = "http") -> String? {
        let bare = word.trimmingCharacters(in: CharacterSet(charactersIn: "\"'<>“”‘’"))
        // Also “http:/host”, “http//host” and “http:host”.
        if let match = bare.wholeMatch(of: /([A-Za-z]+)(?::\/*|\/\/+)([^\/].*)/),
            let meant = schemes.first(where: { $0 == match.1.lowercased() })
                ?? NearestName.misspelling(String(match.1), of: schemes)
        {
            return shown("\(meant)://\(match.2)")
        }
        return namesHost(bare) ? shown("\(scheme)://\(bare)") : nil
    }

    /// Whether a word without a scheme begins with a host: “www.example.org”, “example.org/file”, “localhost:8080”.
    private static func namesHost(_ word: String) -> Bool {
        let authority = word.prefix { !"/?#".contains($0) }
        guard let match = authority.wholeMatch(of: /(?:[^@]*@)?([A-Za-z0-9.-]+)(:[0-9]+)?/) else { return false }
        let labels = match.1.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, !labels.contains("") else { return false }
        if match.2 != nil || match.1 == "localhost" { return true }
        let isAddress = labels.count == 4 && labels.allSatisfy { UInt8($0) != nil }
        // A word without a path is rather the name of a file, except where it is certainly a host's.
        let isHost = labels.count > 1 && last.count > 1 && last.allSatisfy(\.isLetter)
        let isCertain = labels[0] == "www" || ["com", "net", "org"].contains(last)
        return isAddress || isHost && (authority.count < word.count || isCertain)
    }

    /// A word as it is shown, that may be meant as a URL: what would be its password is hidden.
    static func shown(_ word: String) -> String {
        word.contains("//") ? URLPassword.hidden(in: word) : String(URLPassword.hidden(in: "//" + word).dropFirst(2))
    }

    /// The sentence about a word that is not a URL.
    static func refusal(
        _ word: String, schemes: [String] = loadedSchemes, example: String = "http://host/file"
    ) -> String {
        let scheme = String(example.prefix { $0 != ":" })
        if word.contains("://"), let url = URL(string: word), let given = url.scheme {
            if let port = url.port, !ports.contains(port) {
                return "“\(shown(word))” has the port \(port); ports are numbers from 1 to \(ports.upperBound)."
            }
            if NearestName.misspelling(given, of: Self.schemes) == nil, !schemes.contains(given.lowercased()) {
                let names = schemes.map { "“\($0)”" }.joined(separator: ", ")
                let command = Self.schemes.contains(given.lowercased()) ? "this command" : "purl"
                return "“\(shown(word))” begins with “\(given)”. What \(command) loads: \(names)."
            }
        }
        guard let nearest = nearest(word, scheme: scheme), nearest != shown(word) else {
            return "“\(shown(word))” is not a URL such as \(example)."
        }
        return "“\(shown(word))” is not a URL: did you mean “\(nearest)”?"
    }
}

/// How the text after an option becomes a value.
enum OptionValue {
    static func text(_ text: String) throws(BadValue) -> String { text }

    static func number(in range: ClosedRange<Int>) -> (String) throws(BadValue) -> Int {
        { text throws(BadValue) in
            guard let number = Int(text), range.contains(number) else {
                throw BadValue("needs a number from \(range.lowerBound) to \(range.upperBound), not “\(text)”")
            }
            return number
        }
    }

    static func rate(_ text: String) throws(BadValue) -> ByteRate {
        guard let rate = ByteRate(text) else {
            throw BadValue("needs bytes a second such as 500000, 200K or 1.5M, not “\(text)”")
        }
        return rate
    }

    static func length(_ text: String) throws(BadValue) -> Int64 {
        guard let length = ByteRate(text) else {
            throw BadValue("needs a number of bytes such as 500000, 200K or 1.5M, not “\(text)”")
        }
        return Int64(length.bytesPerSecond)
    }

    static func url(_ text: String) throws(BadValue) -> URL {
        guard let url = URLWord.url(text) else {
            throw BadValue("needs a URL such as http://host/file, not “\(URLWord.shown(text))”")
        }
        return url
    }
}

// MARK: Rows of several commands

extension OptionRow {
    static func retry(_ path: WritableKeyPath<Values, Int>) -> Self {
        .value(
            "--retry", "N", path, OptionValue.number(in: 0...1000),
            """
            retry when the connection is lost or the server is busy: N times in a row without progress, after 1, 2, 4 …
            60 s, or after the delay that the server asks for (0)
            """)
    }

    /// - Parameter subject: What is limited: “receive at most RATE bytes a second, all files together”.
    static func limitRate(_ path: WritableKeyPath<Values, ByteRate?>, _ subject: String) -> Self {
        .value(
            "--limit-rate", "RATE", path, OptionValue.rate,
            "\(subject); the suffixes K, M and G mean 1024, 1024² and 1024³ (200K, 1.5M)")
    }

    /// - Parameter request: What has the field: “the handshake”.
    static func header(_ path: WritableKeyPath<Values, [HeaderOption]>, of request: String) -> Self {
        .list(
            "-H, --header", "FIELD", path, HeaderOption.init(line:), "add a header field, 'Name: value', to \(request)")
    }

    static func quiet(_ path: WritableKeyPath<Values, Verbosity>, _ help: String) -> Self {
        .flag("-q, --quiet", path, .quiet, help)
    }

    static func verbose(
        _ path: WritableKeyPath<Values, Verbosity>, _ help: String = "print requests, responses and delegate calls"
    ) -> Self {
        .flag("-v, --verbose", path, .verbose, not: "--quiet", help)
    }

    /// - Parameter alternative: The name of an earlier option that cannot be given with it.
    static func json(_ path: WritableKeyPath<Values, Bool>, not alternative: String? = nil) -> Self {
        .flag(
            "--json", path, true, not: alternative,
            """
            print what happens as lines of JSON on standard output, for other programs, and no messages; errors and a wrong
            command line, too
            """)
    }

    /// `--proxy` and `--no-proxy`.
    static func proxies(_ path: WritableKeyPath<Values, ProxyChoice>) -> [Self] {
        [
            .value(
                "--proxy", "URL", path,
                { text throws(BadValue) in
                    guard !text.isEmpty else { throw BadValue("needs a host or a URL") }
                    return .named(text)
                },
                """
                use this proxy: http://[USER:PASSWORD@]HOST[:PORT], or socks5:// of the same form. Without it the proxy
                in http_proxy, for secure servers https_proxy, or in all_proxy is used, except for the hosts in no_proxy and
                this machine
                """),
            .flag("--no-proxy", path, .none, not: "--proxy", "use no proxy"),
        ]
    }
}
