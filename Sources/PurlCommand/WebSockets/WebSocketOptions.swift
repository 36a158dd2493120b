import Foundation

/// The arguments of `purl ws`.
struct WebSocketOptions: Equatable {
    private(set) var url: URL
    /// The subprotocols offered, the preferred one first.
    private(set) var protocols: [String] = []
    /// Additional header fields, in the order given.
    private(set) var headers: [HeaderOption] = []
    private(set) var proxy = ProxyChoice.environment
    private(set) var tls = TLSOptions()
    /// The longest message accepted, in bytes; `nil` for the library's limit.
    private(set) var maximumMessageSize: Int?
    private(set) var verbosity = Verbosity.normal
    /// Whether events are printed in place of messages.
    private(set) var printsEvents = false
    /// Where what happens is recorded.
    private(set) var trace: TraceFile?

    private init(_ words: ParsedWords<Self>) throws(UsageError) {
        guard let word = try words.operand("URL") else { throw words.error("The URL is missing.") }
        let schemes = ["ws", "wss"] + URLWord.loadedSchemes
        guard let url = URLWord.url(word, schemes: schemes), url.host()?.isEmpty == false else {
            throw words.error(URLWord.refusal(word, schemes: schemes, example: "ws://host/path"))
        }
        self.url = url
        self = try words.applied(to: self)
        try tls.check(words)
    }
}

extension WebSocketOptions {
    static var syntax: CommandSyntax<WebSocketOptions> {
        CommandSyntax(
            "ws", "URL", "send lines as WebSocket messages, and print received messages",
            text: """
                Opens a WebSocket connection to a ws: or wss: URL. Sends each line of standard input as a text message, and prints
                each received text message as a line; for a binary message it prints the length. At the end of the input the
                connection is closed when the server has answered a ping; Ctrl-C closes it at once.
                """,
            rows: [
                .list(
                    "--protocol", "NAME", \.protocols, OptionValue.text,
                    "a subprotocol that the server may choose; list the preferred one first"),
                .header(\.headers, of: "the handshake"),
                .value(
                    "--max-size", "BYTES", \.maximumMessageSize, size,
                    "the longest message accepted, in bytes (1048576)"),
            ] + OptionRow.proxies(\.proxy) + OptionRow.tls(\.tls) + [
                .trace(\.trace, "record what happens, as purl get does: --trace chat.svg"),
                .quiet(\.verbosity, "do not print the server's close code"),
                .json(\.printsEvents, not: "--quiet"),
                .verbose(\.verbosity, "print when the connection opens and closes"),
            ],
            notes: """
                Exit status: 0 closed with 1000, 1001 or no code, 1 failed or closed with another code, 2 usage, 22 the
                handshake's response had a status of 400 or above, 130 interrupted.
                """
        ) { words throws(UsageError) in try WebSocketOptions(words) }
    }

    private static func size(_ text: String) throws(BadValue) -> Int {
        guard let number = Int(text), number > 0 else { throw BadValue("needs a number of bytes, not “\(text)”") }
        return number
    }
}
