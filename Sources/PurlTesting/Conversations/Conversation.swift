public import Foundation

/// What a client and a server sent to each other, to be replayed: a fixture that people can read and write.
///
/// ```
/// # Lines that begin with > are the client's, those with < the server's. Each ends with CR LF.
/// > GET /greeting HTTP/1.1
/// > Accept: text/plain
/// >
/// < HTTP/1.1 200 OK
/// < Content-Length: 5
/// <
/// <- hello
/// ```
///
/// | line begins with | what follows |
/// | --- | --- |
/// | `> ` or `< ` | text, and a line end (CR LF) |
/// | `>- ` or `<- ` | text without a line end |
/// | `>= ` or `<= ` | bytes in base64 |
/// | `<! end` or `<! reset` | the server ends the stream here, or resets the connection |
/// | `#`, or an empty line | not part of the conversation |
///
/// In text a backslash begins `\\`, `\n`, `\r`, `\t` or `\x1F`, a byte in hexadecimal. The client's first line after the
/// server's begins the next exchange. An answer that is incomplete and has no ending leaves the client waiting.
///
/// Write one by hand, or record it with ``LoopbackServer/record(forwardingTo:)``; then let a server replay it with
/// ``LoopbackServer/replay(_:ignoring:)``.
public struct Conversation: Sendable, Hashable, CustomStringConvertible {
    /// A request and its answer, byte by byte.
    public struct Exchange: Sendable, Hashable {
        /// The request: head and body. The body is not chunked.
        public var request: Data
        /// Everything that the server answered, interim responses included.
        public var answer: Data
        /// What the server did after that.
        public var ending: Reply.RawEnding

        /// Creates an exchange.
        ///
        /// - Parameters:
        ///   - request: The request, head and body.
        ///   - answer: What the server answers.
        ///   - ending: What the server does after that.
        public init(request: Data, answer: Data, ending: Reply.RawEnding = .keepOpen) {
            self.request = request
            self.answer = answer
            self.ending = ending
        }
    }

    /// Why a text is not a conversation.
    public struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The number of the line, from 1.
        public let line: Int
        /// What is wrong with it.
        public let reason: String

        /// The line's number and the reason.
        public var description: String { "line \(line): \(reason)" }
    }

    /// The exchanges in order.
    public var exchanges: [Exchange]

    /// Creates a conversation.
    ///
    /// - Parameter exchanges: Its exchanges, in order.
    public init(_ exchanges: [Exchange] = []) {
        self.exchanges = exchanges
    }

    /// Parses a conversation.
    ///
    /// - Parameter text: The conversation as text.
    /// - Throws: ``SyntaxError``
    public init(_ text: String) throws(SyntaxError) {
        var parser = ConversationParser()
        // By scalars: as characters, CR LF is one, and so is a line end with an accent after it.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do throws(ConversationParser.Failure) {
                try parser.parse(Substring(line.last == "\r" ? line.dropLast() : line))
            } catch {
                throw SyntaxError(line: index + 1, reason: error.reason)
            }
        }
        exchanges = parser.exchanges
    }

    /// Reads a conversation from a file.
    ///
    /// - Parameter url: Where the file is.
    /// - Throws: ``SyntaxError``, or the error of reading the file.
    public init(contentsOf url: URL) throws {
        try self.init(String(contentsOf: url, encoding: .utf8))
    }

    /// The conversation as ``text``.
    public var description: String { text }

    /// The conversation as text; parsing it gives an equal conversation.
    public var text: String {
        exchanges.map { exchange in
            let ending =
                switch exchange.ending {
                case .keepOpen: ""
                case .close: "<! end\n"
                case .reset: "<! reset\n"
                }
            return ConversationFormatter.lines(of: exchange.request, speaker: ">")
                + ConversationFormatter.lines(of: exchange.answer, speaker: "<") + ending
        }.joined(separator: "\n")
    }

    /// Writes the conversation to a file, as text.
    ///
    /// - Parameter url: Where the file is to be.
    /// - Throws: The error of writing the file.
    public func write(to url: URL) throws {
        try text.write(to: url, atomically: true, encoding: .utf8)
    }
}
