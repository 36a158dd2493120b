import Foundation
import PurlTesting
import Testing

/// What a client receives, byte for byte, when it sends one request and reads until the stream ends.
struct WireCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reply: Reply
    var request = "GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
    let wire: String
}

private let head = "HEAD / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
private let old = "GET / HTTP/1.0\r\n\r\n"
private let date = Date(timeIntervalSince1970: 784_111_777)

private let cases: [WireCase] = [
    WireCase(
        testDescription: "text", reply: .text("hé"),
        wire: "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n"
            + "Accept-Ranges: bytes\r\nConnection: close\r\n\r\nhé"),
    WireCase(
        testDescription: "bytes without a type", reply: .bytes(Data("ab".utf8)),
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nAccept-Ranges: bytes\r\nConnection: close\r\n\r\nab"),
    WireCase(
        testDescription: "HEAD: the head of the GET and nothing else", reply: .text("abc").chunked(), request: head,
        wire: "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nTransfer-Encoding: chunked\r\n"
            + "Accept-Ranges: bytes\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "204: no length", reply: .status(204),
        wire: "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "a custom reason", reply: .status(500, reason: "Out of tea"),
        wire: "HTTP/1.1 500 Out of tea\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "validators and added fields",
        reply: Reply.status(404).status(200).entityTag("W/\"v\"").lastModified(date).field("X-A", "1").field(
            "x-a", "2"),
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nAccept-Ranges: bytes\r\nETag: W/\"v\"\r\n"
            + "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-A: 1\r\nx-a: 2\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "replaced and removed fields",
        reply: Reply.text("abc").acceptRanges(nil).replacingField("content-type", nil)
            .replacingField("Content-Length", "5"),
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabc"),
    WireCase(
        testDescription: "a redirect to an invalid URL", reply: .redirect(303, to: "http:// x"),
        wire: "HTTP/1.1 303 See Other\r\nContent-Length: 0\r\nLocation: http:// x\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "chunks with extension and trailers",
        reply: Reply.bytes(Data("abcdefghijk".utf8)).acceptRanges(nil)
            .chunked(size: 5, chunkExtension: "a=b", trailers: ["X-Sum": "1", "X-End": "2"]),
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-End\r\nConnection: close\r\n\r\n"
            + "5;a=b\r\nabcde\r\n5;a=b\r\nfghij\r\n1;a=b\r\nk\r\n0\r\nX-Sum: 1\r\nX-End: 2\r\n\r\n"),
    WireCase(
        testDescription: "no chunks in an empty chunked body", reply: Reply.bytes(Data()).acceptRanges(nil).chunked(),
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"),
    WireCase(
        testDescription: "a chunked reply to an HTTP/1.0 client ends at close",
        reply: Reply.bytes(Data("abc".utf8)).acceptRanges(nil).chunked(), request: old,
        wire: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"),
    WireCase(
        testDescription: "until close", reply: Reply.bytes(Data("abc".utf8)).acceptRanges(nil).untilClose(),
        request: "GET / HTTP/1.1\r\nHost: t\r\n\r\n",
        wire: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"),
    WireCase(
        testDescription: "closing without Connection: close",
        reply: Reply.status(404).closingConnection(announced: false),
        request: "GET / HTTP/1.1\r\nHost: t\r\n\r\n",
        wire: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
    WireCase(
        testDescription: "interim responses come first",
        reply: Reply.status(404).interim(103, fields: ["Link": "</a>"]).interim(102),
        wire: "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
            + "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "a reply in pieces has the same bytes",
        reply: Reply.bytes(Data("abc".utf8)).chunked(size: 2).inPieces(of: 1),
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nAccept-Ranges: bytes\r\nConnection: close\r\n\r\n"
            + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
    WireCase(
        testDescription: "raw bytes as they are", reply: .raw([Data("HTTP/9".utf8), Data(" what\n".utf8), Data()]),
        wire: "HTTP/9 what\n"),
    WireCase(
        testDescription: "an invalid field becomes a 500",
        reply: Reply.text("x").field("X", "a\r\nb"),
        wire: "HTTP/1.1 500 "),
    WireCase(
        testDescription: "the end of the stream before the head", reply: Reply.text("x").cut(at: .beforeHead), wire: ""),
    WireCase(
        testDescription: "the end of the stream in the middle of the head",
        reply: Reply.status(404).cut(at: .midHead),
        wire: "HTTP/1.1 404 Not Found\r\nContent-"),
    WireCase(
        testDescription: "the end of the stream in the body",
        reply: Reply.bytes(Data("abc".utf8)).acceptRanges(nil).cut(afterBytes: 2),
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nab"),
    WireCase(
        testDescription: "the end of the stream right after the head",
        reply: Reply.bytes(Data("abc".utf8)).acceptRanges(nil).cut(afterBytes: 0),
        wire: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "the end of the stream inside a chunk",
        reply: Reply.bytes(Data("abcdef".utf8)).acceptRanges(nil).chunked(size: 4).cut(afterBytes: 5),
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nabcd\r\n2\r\ne"),
    WireCase(
        testDescription: "the end of the stream instead of the last chunk",
        reply: Reply.bytes(Data("abcd".utf8)).acceptRanges(nil).chunked(size: 4).cut(afterBytes: 4),
        wire: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nabcd"),
    WireCase(
        testDescription: "a cut beyond the body does nothing", reply: Reply.status(404).cut(afterBytes: 1),
        wire: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
    WireCase(
        testDescription: "an echo", reply: Reply.echo.acceptRanges(nil),
        request: "POST /a?b HTTP/1.1\r\nhost: t\r\nCONNECTION: close\r\nContent-Length: 2\r\n\r\nhi",
        wire: "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 71\r\n"
            + "Connection: close\r\n\r\n"
            + "POST /a?b HTTP/1.1\r\nhost: t\r\nCONNECTION: close\r\nContent-Length: 2\r\n\r\nhi"),
]

@Suite("Replies on the wire")
struct WireTests {
    @Test("A reply has exactly these bytes on the wire", arguments: cases)
    func wire(_ example: WireCase) async throws {
        let server = try LoopbackServer()
        server.fallback(example.reply)
        let client = try RawClient(to: server)
        await client.send(example.request)
        let (data, end) = await client.readToEnd()
        if example.wire == "HTTP/1.1 500 " {
            #expect(String(data).hasPrefix(example.wire))
        } else {
            #expect(String(data) == example.wire)
        }
        #expect(end == .closed)
    }
}
