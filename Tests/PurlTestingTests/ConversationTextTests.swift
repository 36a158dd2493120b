import Foundation
import PurlTesting
import Testing

@Suite("Conversations as text")
struct ConversationTextTests {
    private typealias Exchange = Conversation.Exchange

    private static let greeting = #"""
        # A greeting.
        > GET /greeting HTTP/1.1
        > Accept: text/plain
        >
        < HTTP/1.1 200 OK
        < Content-Length: 5
        <
        <- hello

        > POST /x HTTP/1.1
        > Content-Length: 3
        >
        >- a\x00b
        < HTTP/1.1 204 No Content
        <
        <! end
        """#

    @Test("Each line parses as what one side sent, with its line end")
    func parsing() throws {
        let conversation = try Conversation(Self.greeting)
        #expect(
            conversation
                == Conversation([
                    Exchange(
                        request: Data("GET /greeting HTTP/1.1\r\nAccept: text/plain\r\n\r\n".utf8),
                        answer: Data("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)),
                    Exchange(
                        request: Data("POST /x HTTP/1.1\r\nContent-Length: 3\r\n\r\na\0b".utf8),
                        answer: Data("HTTP/1.1 204 No Content\r\n\r\n".utf8), ending: .close),
                ]))
    }

    @Test(
        "A formatted conversation parses as an equal one",
        arguments: [
            "", "hello", "hello\r\n", "two\nlines", "two\r\nlines\n", "\n", "\r\n\r\n", "a\\b \ttab",
            "ends in a blank ",
            "ends in a blank \r\n", "# no comment", "grüße", "a\rb", "\u{0}\u{7F}\u{1B}[2J",
        ].map { Data($0.utf8) } + [Data(0...255), Data(repeating: 0xFF, count: 1000)])
    func roundTrip(body: Data) throws {
        let head = Data("HTTP/1.1 200 OK\r\nX: y \r\n\r\n".utf8)
        for ending in [Reply.RawEnding.keepOpen, .close, .reset] {
            let exchange = Exchange(
                request: Data("GET / HTTP/1.1\r\n\r\n".utf8) + body, answer: head + body, ending: ending)
            let conversation = Conversation([exchange, exchange])
            let text = conversation.text
            #expect(try Conversation(text) == conversation)
            #expect(try Conversation(text.replacingOccurrences(of: "\n", with: "\r\n")) == conversation)
            #expect(text.split(separator: "\n").allSatisfy { !$0.hasSuffix(" ") && $0.utf8.count < 200 })
        }
    }

    @Test("A conversation with text is formatted as text")
    func formatting() throws {
        let conversation = try Conversation(Self.greeting)
        let body = Self.greeting.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        #expect(conversation.text == body.joined(separator: "\n") + "\n")
    }

    @Test(
        "A syntax error has its line and a reason",
        arguments: [
            ("hello", 1), ("> GET / HTTP/1.1\n\nhello", 3), ("< HTTP/1.1 200 OK", 1), (">GET", 1), (">-GET", 1),
            (">= no base64!", 1), ("> a\\q", 1), ("> a\\x4", 1), ("> a\\xg0", 1), ("> a\\", 1), ("> a\n<! later", 2),
            ("> a\n<! end\n< more", 3),
        ])
    func syntaxErrors(text: String, line: Int) {
        let error = #expect(throws: Conversation.SyntaxError.self) { try Conversation(text) }
        #expect(error?.line == line)
        #expect(error?.reason.isEmpty == false)
    }
}
