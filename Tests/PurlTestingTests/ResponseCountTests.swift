import Foundation
import PurlTesting
import Testing

@Suite("Replies that change from response to response")
struct ResponseCountTests {
    /// A reply, and the bodies of its first responses (`404` for that status).
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reply: Reply
        let bodies: [String]
    }

    private static let cases: [Case] = [
        Case(
            testDescription: "a sequence; the last repeats", reply: .sequence([.text("a"), .text("b"), .text("c")]),
            bodies: ["a", "b", "c", "c"]),
        Case(testDescription: "an empty sequence", reply: .sequence([]), bodies: ["404"]),
        Case(
            testDescription: "cuts, then not", reply: Reply.text("abc").cut(afterBytes: 1, times: 2),
            bodies: ["a", "a", "abc"]),
        Case(
            testDescription: "several cuts: the first that still holds wins",
            reply: Reply.text("abc").cut(afterBytes: 2, times: 2).cut(afterBytes: 1, times: 1),
            bodies: ["a", "ab", "abc"]),
        Case(
            testDescription: "switching", reply: Reply.text("old").switching(after: 2, to: .text("new")),
            bodies: ["old", "old", "new", "new"]),
        Case(
            testDescription: "counts inside a sequence are the member's own",
            reply: .sequence([.text("abc"), Reply.text("def").cut(afterBytes: 1, times: 2)]),
            bodies: ["abc", "d", "d", "def"]),
        Case(
            testDescription: "counts outside a sequence are the route's",
            reply: Reply.sequence([.text("abc"), .text("def")]).cut(afterBytes: 1, times: 2),
            bodies: ["a", "d", "def"]),
        Case(
            testDescription: "counts around a handler are the route's",
            reply: Reply.computed { .text("\($0.number)00") }.cut(afterBytes: 1, times: 1),
            bodies: ["0", "100", "200"]),
        Case(
            testDescription: "counts after switching begin at 0",
            reply: Reply.text("a").switching(after: 1, to: Reply.text("bcd").cut(afterBytes: 1, times: 1)),
            bodies: ["a", "b", "bcd"]),
    ]

    @Test("Each response is the reply's next", arguments: cases)
    func bodies(_ example: Case) async throws {
        let server = try LoopbackServer()
        server.route("/", example.reply)
        for expected in example.bodies {
            let client = try RawClient(to: server)
            await client.get("/")
            let (head, body) = await client.readResponse()
            #expect((head.hasPrefix("HTTP/1.1 404 ") ? "404" : String(body)) == expected)
        }
    }

    @Test(
        "Each response has the next entity tag",
        arguments: [
            (Reply.text("x").entityTags(["\"a\"", "\"b\""]), ["\"a\"", "\"b\"", "\"b\""]),
            (
                Reply.text("x").entityTag("\"a\"").switching(after: 1, to: Reply.text("y").entityTag("\"b\"")),
                ["\"a\"", "\"b\""]
            ),
            (Reply.text("x").freshEntityTags(), ["\"answer-0\"", "\"answer-1\"", "\"answer-2\""]),
            (Reply.text("x").entityTags([]), ["none"]),
        ])
    func entityTags(_ reply: Reply, _ tags: [String]) async throws {
        let server = try LoopbackServer()
        server.route("/", reply)
        let client = try RawClient(to: server)
        for tag in tags {
            await client.get("/")
            let head = await client.readResponse().head
            let line = head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }
            #expect(line.map { String($0.dropFirst(6)) } ?? "none" == tag)
        }
    }

    @Test("A route that is set again counts from 0, and each route has its own count")
    func countPerRoute() async throws {
        let server = try LoopbackServer()
        let reply = Reply.sequence([.text("1"), .text("2")])
        server.route("/a", reply)
        server.route("/b", reply)
        let client = try RawClient(to: server)
        var bodies: [String] = []
        for path in ["/a", "/a", "/b"] {
            await client.get(path)
            bodies.append(String(await client.readResponse().body))
        }
        server.route("/a", reply)
        await client.get("/a")
        bodies.append(String(await client.readResponse().body))
        #expect(bodies == ["1", "2", "1", "1"])
    }
}
