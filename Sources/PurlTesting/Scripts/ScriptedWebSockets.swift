import Foundation

/// What one line of a ``ServerScript`` says about the WebSockets that a route accepts.
enum WebSocketDirective: Sendable, Equatable {
    /// The route accepts WebSockets, and sends messages back or not.
    case accept(echoes: Bool)
    case text(String)
    case binary(Data)
    case ping(Data)
    case pong(Data)
    case close(Int?, reason: String)
    case bytes(Data)
    case receive(Int)
    case cut
    case reset
    case subprotocols([String])
    case compression
    case fragments(Int)
    case maximumMessageSize(Int)
    case withoutPongs
    case withoutCloseAnswer
}

extension WebSocketScript {
    /// What a route's lines describe; `nil` for a route that accepts no WebSockets.
    init?(_ directives: [WebSocketDirective]) {
        guard !directives.isEmpty else { return nil }
        let echoes = directives.contains(.accept(echoes: true))
        self = directives.reduce(echoes ? .echo : .listening) { script, directive in script.applying(directive) }
    }

    private func applying(_ directive: WebSocketDirective) -> WebSocketScript {
        switch directive {
        case .accept: self
        case .text(let message): text(message)
        case .binary(let message): data(message)
        case .ping(let content): ping(content)
        case .pong(let content): pong(content)
        case .close(let code, let reason): close(code, reason: reason)
        case .bytes(let content): bytes(content)
        case .receive(let count): receive(count)
        case .cut: cut()
        case .reset: reset()
        case .subprotocols(let names): subprotocols(names)
        case .compression: compression()
        case .fragments(let size): fragments(of: size)
        case .maximumMessageSize(let size): maximumMessageSize(size)
        case .withoutPongs: withoutPongs()
        case .withoutCloseAnswer: withoutCloseAnswer()
        }
    }
}

// MARK: - The grammar

extension WebSocketDirective {
    private typealias Failure = ServerScript.ParseError
    private typealias Reader = @Sendable (inout ScriptLine) throws(Failure) -> WebSocketDirective

    /// The directive about WebSockets: its first word, and how the rest of its line is read.
    static let readers: [String: ScriptParser.Reader] = [
        "websocket": { line throws(Failure) in
            let word = line.peek()
            guard !word.text.isEmpty else { return .webSocket(.accept(echoes: false)) }
            _ = try line.word("")
            guard let read = steps[word.text] else {
                let names = steps.keys.sorted().map { "“\($0)”" }.joined(separator: ", ")
                throw line.failure("“\(word.text)” should be one of \(names).", word)
            }
            return .webSocket(try read(&line))
        }
    ]

    /// What follows the word `websocket`.
    private static let steps: [String: Reader] = [
        "echo": { (_: inout ScriptLine) throws(Failure) in .accept(echoes: true) },
        "text": { line throws(Failure) in .text(String(decoding: try line.escapedRest(), as: UTF8.self)) },
        "binary": { line throws(Failure) in .binary(try line.escapedRest()) },
        "ping": { line throws(Failure) in .ping(try line.escapedRest()) },
        "pong": { line throws(Failure) in .pong(try line.escapedRest()) },
        "bytes": { line throws(Failure) in .bytes(try line.escapedRest()) },
        "close": { line throws(Failure) in
            let word = line.peek()
            guard !word.text.isEmpty else { return .close(nil, reason: "") }
            let code = try line.count("a close code")
            // RFC 6455 §7.4: what a close frame can have. Others are sent with `bytes`.
            guard (1000...1003).contains(code) || (1007...1014).contains(code) || (3000...4999).contains(code) else {
                throw line.failure("“\(word.text)” is not a close code that may be sent.", word)
            }
            return .close(code, reason: line.restIfAny() ?? "")
        },
        "receive": { line throws(Failure) in .receive(try line.count("a number of messages")) },
        "cut": { (_: inout ScriptLine) throws(Failure) in .cut },
        "reset": { (_: inout ScriptLine) throws(Failure) in .reset },
        "subprotocols": { line throws(Failure) in
            var names = [try line.word("a subprotocol").text]
            while let name = try line.wordIfAny() { names.append(name.text) }
            return .subprotocols(names)
        },
        "compressed": { (_: inout ScriptLine) throws(Failure) in .compression },
        "fragments": { line throws(Failure) in .fragments(try line.size("a size")) },
        "max-size": { line throws(Failure) in .maximumMessageSize(try line.size("a size")) },
        "without": { line throws(Failure) in
            let word = try line.word("“pongs” or “close”")
            switch word.text {
            case "pongs": return .withoutPongs
            case "close": return .withoutCloseAnswer
            default: throw line.failure("“\(word.text)” should be “pongs” or “close”.", word)
            }
        },
    ]
}
