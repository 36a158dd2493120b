public import Foundation

/// What a client and a server said to each other, to be replayed: a fixture that a person can read and write.
///
/// ```
/// # Lines that begin with > are the client's, with < the server's. Each ends with CR LF.
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
/// | `#`, or nothing at all | not part of the conversation |
///
/// In text a backslash begins `\\`, `\n`, `\r`, `\t` or `\x1F`, a byte in hexadecimal. The client's first line after the
/// server's begins the next exchange. Whoever replays an answer that is not whole, and does not say how it ends, leaves
/// the client waiting.
///
/// Write one by hand, or record it with ``LoopbackServer/record(forwardingTo:)``; then let a server answer as it says with
/// ``LoopbackServer/replay(_:ignoring:)``.
public struct Conversation: Sendable, Hashable {
    /// A request and its answer, byte by byte.
    public struct Exchange: Sendable, Hashable {
        /// The request: head and body. The body is not chunked.
        public var request: Data
        /// Everything that the server answered, interim responses included.
        public var answer: Data
        /// What the server did after that.
        public var ending: Reply.RawEnding

        /// An exchange.
        public init(request: Data, answer: Data, ending: Reply.RawEnding = .keepOpen) {
            self.request = request
            self.answer = answer
            self.ending = ending
        }
    }

    /// A text that is no conversation.
    public struct SyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
        /// The number of the line, from 1.
        public let line: Int
        /// What is wrong with it.
        public let reason: String

        public var description: String { "line \(line): \(reason)" }
    }

    /// The exchanges in order.
    public var exchanges: [Exchange]

    /// A conversation of these exchanges.
    public init(_ exchanges: [Exchange] = []) {
        self.exchanges = exchanges
    }

    /// Reads a conversation from its text.
    ///
    /// - Throws: ``SyntaxError``
    public init(_ text: String) throws(SyntaxError) {
        var reader = ConversationReader()
        // Not by characters: CR LF is one, and so is a line end with an accent after it.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            do throws(ConversationReader.Fault) {
                try reader.read(Substring(line.last == "\r" ? line.dropLast() : line))
            } catch {
                throw SyntaxError(line: index + 1, reason: error.reason)
            }
        }
        exchanges = reader.exchanges
    }

    /// Reads a conversation from a file.
    ///
    /// - Throws: ``SyntaxError``, or the error of reading the file.
    public init(contentsOf url: URL) throws {
        try self.init(String(contentsOf: url, encoding: .utf8))
    }

    /// The conversation as text; reading it gives the same conversation.
    public var text: String {
        exchanges.map { exchange in
            let ending =
                switch exchange.ending {
                case .keepOpen: ""
                case .close: "<! end\n"
                case .reset: "<! reset\n"
                }
            return ConversationText.lines(of: exchange.request, speaker: ">")
                + ConversationText.lines(of: exchange.answer, speaker: "<") + ending
        }.joined(separator: "\n")
    }

    /// Writes the conversation's text to a file.
    public func write(to url: URL) throws {
        try text.write(to: url, atomically: true, encoding: .utf8)
    }
}
