import Foundation
import PurlTesting
import Testing

@Suite("A conversation as text")
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

    @Test("Each line is what one side said, with its end")
    func reading() throws {
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
        "What is written reads as the same",
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

    @Test("Text is written so that people can read it")
    func writing() throws {
        let conversation = try Conversation(Self.greeting)
        let body = Self.greeting.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
        #expect(conversation.text == body.joined(separator: "\n") + "\n")
    }

    @Test(
        "What is no conversation says where, and why",
        arguments: [
            ("hello", 1), ("> GET / HTTP/1.1\n\nhello", 3), ("< HTTP/1.1 200 OK", 1), (">GET", 1), (">-GET", 1),
            (">= no base64!", 1), ("> a\\q", 1), ("> a\\x4", 1), ("> a\\xg0", 1), ("> a\\", 1), ("> a\n<! later", 2),
            ("> a\n<! end\n< more", 3),
        ])
    func faults(text: String, line: Int) {
        let error = #expect(throws: Conversation.SyntaxError.self) { try Conversation(text) }
        #expect(error?.line == line)
        #expect(error?.reason.isEmpty == false)
    }
}

@Suite("Replaying and recording", .timeLimit(.minutes(5)))
struct ReplayTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private static let conversation = """
        > GET /a HTTP/1.1
        > X: one
        >
        < HTTP/1.1 200 OK
        < Content-Length: 1
        <
        <- a

        > POST /b HTTP/1.1
        >
        >- body
        < HTTP/1.1 200 OK
        < Content-Length: 3
        <
        <- b
        <! reset
        """

    @Test("The server says what is recorded, byte by byte, and ends as it did")
    func replay() async throws {
        let replay = server.replay(try Conversation(Self.conversation))
        #expect(replay.remaining == 2)
        let client = try RawClient(to: server)
        await client.get("/a", "X: one")
        #expect(String(await client.readAnswer().body) == "a")
        #expect(replay.remaining == 1)
        await client.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody")
        #expect(await client.readToEnd().end == .failed(ECONNRESET))
        await replay.waitUntilFinished()
        #expect(replay.problems == [])
    }

    @Test("A body in chunks is the same body")
    func chunks() async throws {
        let replay = server.replay(try Conversation(Self.conversation))
        let client = try RawClient(to: server)
        await client.send(
            "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n")
        _ = await client.readToEnd()
        #expect(replay.problems == [])
        #expect(replay.remaining == 1)
    }

    @Test(
        "What is asked otherwise is refused, and told",
        arguments: [
            ("GET /c HTTP/1.1\r\nHost: h\r\n\r\n", "“GET /c” was asked, where “GET /a” is recorded"),
            ("GET /a HTTP/1.1\r\nHost: h\r\n\r\n", "“GET /a”: x is missing, recorded is “one”"),
            ("GET /a HTTP/1.1\r\nHost: h\r\nX: two\r\n\r\n", "“GET /a”: x is “two”, recorded is “one”"),
            ("GET /a HTTP/1.1\r\nHost: h\r\nX: one\r\nY: z\r\n\r\n", "“GET /a”: y is “z”, recorded is missing"),
            (
                "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nboat",
                "“POST /b”: the body of 4 bytes differs from the recorded 4 at 2"
            ),
        ])
    func problems(request: String, problem: String) async throws {
        let replay = server.replay(try Conversation(Self.conversation))
        let client = try RawClient(to: server)
        await client.send(request)
        #expect(await client.readHead().hasPrefix("HTTP/1.1 500"))
        #expect(replay.problems == [problem])
        #expect(replay.remaining == 2)
    }

    @Test("What goes through the server is recorded, and replayed it is the same")
    func recording() async throws {
        let origin = try LoopbackServer()
        origin.route("/text", .text("hello").field("X", "y"))
        origin.route("/chunks", .bytes(Data(0...255)).chunked(size: 100, trailers: ["T": "u"]).interim(103))
        origin.route("/cut", .text("hello").cut(afterBytes: 2))
        origin.route("/echo", .echo)
        let recording = server.record(forwardingTo: origin.url)
        let requests = [
            "GET /text HTTP/1.1\r\nHost: h\r\nX: z\r\n\r\n", "HEAD /text HTTP/1.1\r\nHost: h\r\n\r\n",
            "GET /chunks HTTP/1.1\r\nHost: h\r\n\r\n", "GET /cut HTTP/1.1\r\nHost: h\r\n\r\n",
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody",
        ]
        var answers: [Data] = []
        for request in requests {
            let client = try RawClient(to: server)
            await client.send(request)
            answers.append(await client.readToEnd().data)
        }
        let conversation = try Conversation(recording.conversation.text)
        #expect(conversation.exchanges.map(\.answer) == answers)
        #expect(origin.requests.map(\.method) == ["GET", "HEAD", "GET", "GET", "POST"])
        #expect(String(decoding: answers[4], as: UTF8.self).hasSuffix("\r\n\r\nbody"))

        let replay = server.replay(conversation)
        for (request, answer) in zip(requests, answers) {
            let client = try RawClient(to: server)
            await client.send(request)
            #expect(await client.readToEnd().data == answer)
        }
        #expect(replay.problems == [])
        #expect(replay.remaining == 0)
    }

    @Test("A server that cannot be reached is told as a 500")
    func unreachable() async throws {
        // A port of a service that is no more, and that the system gives to no other server.
        let nobody = try #require(URL(string: "http://127.0.0.1:1"))
        let recording = server.record(forwardingTo: nobody)
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 500"))
        #expect(recording.conversation.exchanges.isEmpty)
    }
}
