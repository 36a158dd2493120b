import Foundation
import PurlTesting
import Testing

@Suite("Recorded conversations", .timeLimit(.minutes(5)))
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

    @Test("A replay sends the recorded answers and endings")
    func replay() async throws {
        let replay = server.replay(try Conversation(Self.conversation))
        #expect(replay.remaining == 2)
        let client = try RawClient(to: server)
        await client.get("/a", "X: one")
        #expect(String(await client.readResponse().body) == "a")
        #expect(replay.remaining == 1)
        await client.send("POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody")
        #expect(await client.readToEnd().end == .failed(ECONNRESET))
        await replay.waitUntilFinished()
        #expect(replay.problems == [])
    }

    @Test("A chunked body equals the recorded body")
    func chunkedBody() async throws {
        let replay = server.replay(try Conversation(Self.conversation))
        let client = try RawClient(to: server)
        await client.send(
            "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n")
        _ = await client.readToEnd()
        #expect(replay.problems == [])
        #expect(replay.remaining == 1)
    }

    @Test(
        "A request that differs from the recorded one gets a 500, and the difference is reported",
        arguments: [
            ("GET /c HTTP/1.1\r\nHost: h\r\n\r\n", "“GET /c” was requested, but the next recorded one is “GET /a”"),
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

    @Test("Forwarded requests are recorded, and their replay sends the same bytes")
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

    @Test("A request to an upstream server that cannot be reached gets a 500 and is not recorded")
    func unreachable() async throws {
        // A port that the system gives to no server.
        let unreachable = try #require(URL(string: "http://127.0.0.1:1"))
        let recording = server.record(forwardingTo: unreachable)
        let client = try RawClient(to: server)
        await client.get("/")
        #expect(await client.readHead().hasPrefix("HTTP/1.1 500"))
        #expect(recording.conversation.exchanges.isEmpty)
    }
}
