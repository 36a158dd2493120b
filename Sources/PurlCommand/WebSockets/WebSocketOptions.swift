import Foundation

/// The arguments of `purl ws`.
struct WebSocketOptions: Equatable {
    let url: URL
    /// The subprotocols offered, the preferred one first.
    let protocols: [String]
    /// Additional header fields, in the order given.
    let headers: [HeaderOption]
    let proxy: ProxyChoice
    /// The longest message accepted, in bytes; `nil` for the library's limit.
    let maximumMessageSize: Int?
    let verbosity: Verbosity
    /// Where what happens is recorded.
    let trace: TraceFile?

    /// - Parameter arguments: The words after `ws`.
    init(arguments: [String]) throws(UsageError) {
        var url: URL?
        var protocols: [String] = []
        var headers: [HeaderOption] = []
        var proxy: ProxyChoice?
        var maximumMessageSize: Int?
        var verbosity: Verbosity?
        var trace: TraceFile?
        var onlyURLsFollow = false
        var words = arguments[...]
        while let word = words.popFirst() {
            guard word.hasPrefix("-"), !onlyURLsFollow else {
                guard url == nil else { throw UsageError("“ws” takes one URL.", .ws) }
                url = try Self.url(word)
                continue
            }
            switch word {
            case "--": onlyURLsFollow = true
            case "-H", "--header": headers.append(try HeaderOption(line: try words.takeValue(of: word, .ws), .ws))
            case "--protocol": protocols.append(try words.takeValue(of: word, .ws))
            case "--max-size":
                let text = try words.takeValue(of: word, .ws)
                guard let number = Int(text), number > 0 else {
                    throw UsageError("“--max-size” needs a number of bytes, not “\(text)”.", .ws)
                }
                maximumMessageSize = number
            case "--proxy": proxy = .named(try words.takeValue(of: word, .ws))
            case "--no-proxy": proxy = ProxyChoice.none
            case "--trace": trace = try TraceFile(try words.takeValue(of: word, .ws), .ws)
            case "-q", "--quiet": verbosity = .quiet
            case "-v", "--verbose": verbosity = .verbose
            default: throw UsageError("There is no option “\(word)”.", .ws)
            }
        }
        guard let url else { throw UsageError("The URL is missing.", .ws) }
        self.url = url
        self.protocols = protocols
        self.headers = headers
        self.proxy = proxy ?? .environment
        self.maximumMessageSize = maximumMessageSize
        self.verbosity = verbosity ?? .normal
        self.trace = trace
    }

    private static func url(_ text: String) throws(UsageError) -> URL {
        guard let url = URL(string: text), ["ws", "wss"].contains(url.scheme?.lowercased()),
            url.host()?.isEmpty == false
        else { throw UsageError("“\(DownloadRequest.shown(text))” is not a URL such as ws://host/path.", .ws) }
        return url
    }
}
