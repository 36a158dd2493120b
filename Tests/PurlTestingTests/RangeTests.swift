import Foundation
import PurlTesting
import Testing

/// A reply to one request for ranges: status, Content-Range, body.
struct RangeCase: Sendable, CustomTestStringConvertible {
    let fields: [String]
    var change: @Sendable (Reply) -> Reply = { $0 }
    let status: Int
    var contentRange: String?
    var body = ""
    var note = ""

    var testDescription: String { "\(fields.joined(separator: ", ")) \(note) → \(status)" }
}

private let whole = "0123456789"

private let cases: [RangeCase] = [
    RangeCase(fields: [], status: 200, body: whole),
    RangeCase(fields: ["Range: bytes=2-4"], status: 206, contentRange: "bytes 2-4/10", body: "234"),
    RangeCase(fields: ["Range: bytes=7-"], status: 206, contentRange: "bytes 7-9/10", body: "789"),
    RangeCase(fields: ["Range: bytes=7-99"], status: 206, contentRange: "bytes 7-9/10", body: "789"),
    RangeCase(fields: ["Range: bytes=-2"], status: 206, contentRange: "bytes 8-9/10", body: "89"),
    RangeCase(fields: ["Range: bytes=10-"], status: 416, contentRange: "bytes */10"),
    RangeCase(fields: ["Range: bytes=0-1,4-5"], status: 200, body: whole),
    RangeCase(fields: ["Range: bytes=5-2"], status: 200, body: whole),
    RangeCase(fields: ["Range: lines=1-2"], status: 200, body: whole),
    RangeCase(
        fields: ["Range: bytes=8-", "If-Range: \"v1\""], status: 206, contentRange: "bytes 8-9/10", body: "89"),
    RangeCase(fields: ["Range: bytes=8-", "If-Range: \"v2\""], status: 200, body: whole),
    RangeCase(fields: ["Range: bytes=8-", "If-Range: W/\"v1\""], status: 200, body: whole),
    RangeCase(
        fields: ["Range: bytes=8-", "If-Range: W/\"v1\""], change: { $0.entityTag("W/\"v1\"") }, status: 200,
        body: whole, note: "with a weak tag"),
    RangeCase(
        fields: ["Range: bytes=8-", "If-Range: Sun, 06 Nov 1994 08:49:37 GMT"], status: 206,
        contentRange: "bytes 8-9/10", body: "89"),
    RangeCase(fields: ["Range: bytes=8-", "If-Range: Sun, 06 Nov 1994 08:49:38 GMT"], status: 200, body: whole),
    RangeCase(fields: ["Range: bytes=8-", "If-Range: rubbish"], status: 200, body: whole),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.ignoringRange() }, status: 200, body: whole, note: "ignoring it"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.ignoringRange(times: 0) }, status: 206,
        contentRange: "bytes 8-9/10", body: "89", note: "no longer ignoring it"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.rangeNotSatisfiable() }, status: 416, contentRange: "bytes */10",
        note: "always refused"),
    RangeCase(
        fields: [], change: { $0.rangeNotSatisfiable() }, status: 416, contentRange: "bytes */10",
        note: "always refused"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.contentRange(.shifted(by: -3)) }, status: 206,
        contentRange: "bytes 5-6/10", body: "89", note: "another start"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.contentRange(.shifted(by: .min)) }, status: 206,
        contentRange: "bytes 0-1/10", body: "89", note: "a start before all"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.contentRange(.total(99)) }, status: 206,
        contentRange: "bytes 8-9/99", body: "89", note: "another total"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.contentRange(.total(nil)) }, status: 206,
        contentRange: "bytes 8-9/*", body: "89", note: "no total"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.contentRange(.missing) }, status: 206, body: "89", note: "none"),
    RangeCase(
        fields: ["Range: bytes=8-"], change: { $0.contentRange(.literal("bytes a-b/c")) }, status: 206,
        contentRange: "bytes a-b/c", body: "89", note: "rubbish"),
    RangeCase(fields: ["Range: bytes=8-"], change: { $0.status(203) }, status: 203, body: whole, note: "other status"),
    RangeCase(fields: ["If-None-Match: \"v1\""], status: 304),
    RangeCase(fields: ["If-None-Match: \"v0\", W/\"v1\""], status: 304),
    RangeCase(fields: ["If-None-Match: *"], status: 304),
    RangeCase(fields: ["If-None-Match: \"v0\""], status: 200, body: whole),
    RangeCase(fields: ["If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], status: 304),
    RangeCase(fields: ["If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT"], status: 200, body: whole),
    RangeCase(
        fields: ["If-None-Match: \"v0\"", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"], status: 200,
        body: whole),
    RangeCase(
        fields: ["If-None-Match: \"v1\""], change: { $0.ignoringConditions() }, status: 200, body: whole,
        note: "ignoring it"),
]

@Suite("Ranges and conditions")
struct RangeTests {
    @Test("A request gets the status and content of its range and conditions", arguments: cases)
    func responses(_ example: RangeCase) async throws {
        let server = try LoopbackServer()
        let reply = Reply.text(whole).entityTag("\"v1\"").lastModified(Date(timeIntervalSince1970: 784_111_777))
        server.route("/", example.change(reply))
        let client = try RawClient(to: server)
        let fields = example.fields.map { $0 + "\r\n" }.joined()
        await client.send("GET / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\(fields)\r\n")
        let (head, body) = await client.readResponse()
        #expect(head.hasPrefix("HTTP/1.1 \(example.status) "))
        let contentRange = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Range: ") }
        #expect(contentRange.map { String($0.dropFirst(15)) } == example.contentRange)
        #expect(String(body) == example.body)
        #expect(await client.readToEnd().data.isEmpty)
    }

    @Test("A range of generated content can be chunked")
    func chunkedRange() async throws {
        let content = GeneratedContent(size: 1 << 20)
        let server = try LoopbackServer()
        server.route("/", .generated(content).chunked(size: 1 << 20))
        let client = try RawClient(to: server)
        await client.get("/", "Range: bytes=1000-300999", "Connection: close")
        #expect(await client.readHead().contains("Content-Range: bytes 1000-300999/1048576\r\n"))
        #expect(await client.readText(7) == "493e0\r\n")
        #expect(content.matches(await client.read(300_000), at: 1_000))
        #expect(await client.readTextToEnd() == "\r\n0\r\n\r\n")
    }
}
