import Foundation
import PurlHTTP
import Testing

@testable import PurlTesting

/// What a server has replied, as a script that replies the same.
@Suite struct ScriptWriterTests {
    private static let content = Reply.generated(size: 900, seed: 3)

    static let replies: [(Reply, [String])] = [
        (content, ["generated 900 seed 3"]),
        (.status(204), ["status 204"]),
        (.status(503, reason: "Later"), ["status 503 Later"]),
        (.redirect(301, to: "/b"), ["status 301", "field Location: /b"]),
        (.bytes(Data(" a\\\n\r\t\u{1}é".utf8)), ["text \\x20a\\\\\\n\\r\\t\\x01\\xc3\\xa9"]),
        (.raw("HTTP/1.1 200 OK\r\n\r\nabc"), ["raw HTTP/1.1\\x20200\\x20OK\\r\\n\\r\\nabc"]),
        (content.field("A", "b"), ["generated 900 seed 3", "field A: b"]),
        (content.replacingField("A", "b").replacingField("B", nil), ["generated 900 seed 3", "set A: b", "remove B"]),
        (content.entityTag("W/\"v\""), ["generated 900 seed 3", "etag W/\"v\""]),
        (
            content.lastModified(Date(timeIntervalSince1970: 784_111_777)),
            ["generated 900 seed 3", "modified Sun, 06 Nov 1994 08:49:37 GMT"]
        ),
        (content.ignoringConditions(), ["generated 900 seed 3", "conditions ignored"]),
        (content.ignoringIfRange(), ["generated 900 seed 3", "if-range ignored"]),
        (content.refusingIfRange(), ["generated 900 seed 3", "if-range refused"]),
        (content.ignoringRange(), ["generated 900 seed 3", "ranges ignored"]),
        (content.rangeNotSatisfiable(), ["generated 900 seed 3", "ranges refused"]),
        (content.rangeNotSatisfiableWithoutLength(), ["generated 900 seed 3", "ranges refused without length"]),
        (content.multipartRanges(), ["generated 900 seed 3", "ranges multipart"]),
        (content.range(.startShifted(by: -7)), ["generated 900 seed 3", "range shifted -7"]),
        (content.range(.shortened(to: 7)), ["generated 900 seed 3", "range shortened 7"]),
        (content.range(.lengthened(by: 7)), ["generated 900 seed 3", "range lengthened 7"]),
        (content.partialStatus(200), ["generated 900 seed 3", "range status 200"]),
        (content.contentRange(.shifted(by: 7)), ["generated 900 seed 3", "content-range shifted 7"]),
        (content.contentRange(.total(nil)), ["generated 900 seed 3", "content-range total *"]),
        (content.contentRange(.missing), ["generated 900 seed 3", "content-range missing"]),
        (content.contentRange(.literal("bytes x")), ["generated 900 seed 3", "content-range bytes x"]),
        (content.acceptRanges(nil), ["generated 900 seed 3", "accept-ranges missing"]),
        (content.contentLength(.off(by: 5)), ["generated 900 seed 3", "length +5"]),
        (content.contentLength(.exactly(5)), ["generated 900 seed 3", "length 5"]),
        (content.chunked(size: 70), ["generated 900 seed 3", "chunked 70"]),
        (content.untilClose(), ["generated 900 seed 3", "until-close"]),
        (content.throttled(bytesPerSecond: 70), ["generated 900 seed 3", "rate 70"]),
        (content.inPieces(of: 70), ["generated 900 seed 3", "pieces 70"]),
        (content.closingConnection(), ["generated 900 seed 3", "close"]),
        (content.interim(103), ["generated 900 seed 3", "interim 103"]),
        (content.fault(.cut, at: .afterBodyBytes(70)), ["generated 900 seed 3", "cut after 70"]),
        (content.fault(.reset, at: .midHead), ["generated 900 seed 3", "reset in head"]),
        (content.fault(.stall(until: nil), at: .beforeHead), ["generated 900 seed 3", "stall before head"]),
        (
            content.fault(.pause(.milliseconds(20)), at: .bodyShare(perMille: 250)),
            ["generated 900 seed 3", "pause 20ms after 25%"]
        ),
        (content.fault(.cut, at: .beforeLastBytes(5)), ["generated 900 seed 3", "cut before-last 5"]),
    ]

    private static func request(_ number: Int, _ path: String = "/film") -> ReceivedRequest {
        ReceivedRequest(number: number, connection: 1, head: RequestHead(method: .get, target: path))
    }

    private static func script(_ replies: [Reply]) -> String? {
        let requests = replies.indices.map { request($0) }
        let resolved = replies.enumerated().map { ($0, $1.resolved(at: 0)) }
        return ScriptWriter.script("a title", requests, Dictionary(uniqueKeysWithValues: resolved))
    }

    @Test(arguments: replies)
    func aReplyIsWrittenAndReadBack(reply: Reply, directives: [String]) throws {
        let text = "title a title\n\nroute /film\n" + directives.map { "  \($0)\n" }.joined()
        let script = try #require(Self.script([reply]))
        #expect(script == text)
        // Read back, it makes a reply that is written in the same way.
        let request = Self.request(0)
        var route = try #require(try ServerScript(script).routes.first)
        let again = ScriptWriter.script("a title", [request], [0: route.next(to: request)])
        #expect(again == text)
    }

    @Test func requestsThatGetTheSameAreOneLine() {
        let other = Reply.generated(size: 5)
        let script = Self.script([Self.content, Self.content, other, Self.content.entityTag("\"v\"")])
        #expect(
            script == """
                title a title

                route /film
                  1-2: generated 900 seed 3
                  3: generated 5 seed 0
                  4-: generated 900 seed 3
                  4-: etag "v"

                """)
    }

    @Test(arguments: [
        Reply.echo, .webSocket(), .raw("x", then: .keepOpen), content.chunked(size: 3, chunkExtension: "a"),
        content.fault(.record(.truncated), at: .midBody), content.fault(.cut, at: .bodyShare(perMille: 251)),
        content.field("A", "b\nc"), .file(URL(fileURLWithPath: "/tmp/film")),
    ])
    func aReplyWithoutWordsHasNoScript(reply: Reply) {
        #expect(Self.script([Self.content, reply]) == nil)
    }

    @Test func aServerWithoutRequestsHasNoScript() {
        #expect(Self.script([]) == nil)
    }
}
