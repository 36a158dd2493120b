import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

/// Heads that break the grammar or a limit are in the fault matrix.
@Suite("Heads at the edge of the grammar", .timeLimit(.minutes(5)))
struct UnusualHeadTests {
    static let goodHeads: [(name: String, head: String)] = [
        ("no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n"),
        ("an empty reason", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\n"),
        ("a reason in another language", "HTTP/1.1 200 Schön\r\nContent-Length: 5\r\n\r\n"),
        ("lines that end with LF alone", "HTTP/1.1 200 OK\nContent-Length: 5\n\n"),
        ("empty lines before it", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ("HTTP/1.9", "HTTP/1.9 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ("the same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n"),
        ("a list of equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n"),
        ("a length with zeros before it", "HTTP/1.1 200 OK\r\nContent-Length: 0005\r\n\r\n"),
        ("no blank after the colon", "HTTP/1.1 200 OK\r\nContent-Length:5\r\n\r\n"),
        ("blanks around the value", "HTTP/1.1 200 OK\r\nContent-Length: \t 5 \t\r\n\r\n"),
        ("a continued field", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 5\r\n\r\n"),
        ("a field without a value", "HTTP/1.1 200 OK\r\nX:\r\nContent-Length: 5\r\n\r\n"),
        (
            "interim responses",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        ),
        (
            "100 interim responses",
            String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 100)
                + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        ),
        (
            "255 more fields and almost 64 KiB",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
                + (0..<255).map { "X-\($0): \(String(repeating: "y", count: 240))\r\n" }.joined() + "\r\n"
        ),
        ("an unknown status", "HTTP/1.1 299 Fine\r\nContent-Length: 5\r\n\r\n"),
    ]

    @Test("An unusual head that the grammar allows is accepted", arguments: goodHeads)
    func goodHead(name: String, head: String) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .raw(head + "hello", then: .keepOpen))
        for form in LoadForm.allCases { try await form.load(url).expectSuccess(Data("hello".utf8)) }
    }

    @Test("A head in pieces of one byte is accepted", arguments: goodHeads)
    func goodHeadInPieces(name: String, head: String) async throws {
        guard head.utf8.count < 1000 else { return }
        let server = try LoopbackServer()
        let pieces = (head + "hello").utf8.map { Data([$0]) }
        let url = server.route("/file", .raw(pieces, then: .keepOpen))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("hello".utf8))
    }
}

/// Malformed bodies are in the fault matrix.
@Suite("Chunked bodies", .timeLimit(.minutes(5)))
struct ChunkedBodyTests {
    @Test("The chunks before a malformed one are delivered")
    func goodChunksComeFirst() async throws {
        let server = try LoopbackServer()
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let url = server.route("/file", .raw(head + "5\r\nhello\r\nzz\r\n", then: .keepOpen))
        let outcome = try await LoadForm.dataDelegate.load(url)
        #expect(outcome.body == Data("hello".utf8))
        #expect(outcome.events == [.response(200), .data(5), .completed(.cannotDecodeRawData), .invalid])
    }

    static let goodBodies: [(name: String, body: String)] = [
        ("one chunk", "5\r\nhello\r\n0\r\n\r\n"),
        ("a chunk for each byte", "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"),
        ("zeros before the size", "0005\r\nhello\r\n000\r\n\r\n"),
        ("extensions", "5;a=b;c=\"d;e\"\r\nhello\r\n0;f\r\n\r\n"),
        ("a blank after the size", "5 \r\nhello\r\n0 \r\n\r\n"),
        ("trailers", "5\r\nhello\r\n0\r\nX: y\r\nZ: w\r\n\r\n"),
    ]

    @Test("A chunked body that the grammar allows is decoded", arguments: goodBodies)
    func goodBody(name: String, body: String) async throws {
        let server = try LoopbackServer()
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        let url = server.route("/file", .raw(text, then: .keepOpen))
        for form in LoadForm.allCases { try await form.load(url).expectSuccess(Data("hello".utf8)) }
        server.route("/file", .raw(text.utf8.map { Data([$0]) }, then: .keepOpen))
        for form in LoadForm.allCases { try await form.load(url).expectSuccess(Data("hello".utf8)) }
    }

    @Test("Chunk sizes have hexadecimal digits of either case", arguments: ["1a", "1A"])
    func hexadecimal(size: String) async throws {
        let server = try LoopbackServer()
        let letters = "abcdefghijklmnopqrstuvwxyz"
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let url = server.route("/file", .raw(head + "\(size)\r\n\(letters)\r\n0\r\n\r\n", then: .keepOpen))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data(letters.utf8))
    }
}

/// Every point at which a connection may close is in the fault matrix.
@Suite("A connection that closes before the message ends", .timeLimit(.minutes(5)))
struct LostConnectionTests {
    @Test(
        "The bytes received before the connection was lost are delivered before the error",
        arguments: [1, 100_000, 299_999])
    func bytesComeFirst(count: Int) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 300_000, seed: 3)
        let url = server.route("/file", .generated(content).cut(afterBytes: count))
        let outcome = try await LoadForm.dataDelegate.load(url)
        outcome.expectFailure(.networkConnectionLost, at: url)
        #expect(outcome.body?.isSame(as: content.bytes(0..<count)) == true)
        #expect(outcome.events == [.response(200), .data(count), .completed(.networkConnectionLost), .invalid])
    }

    @Test("A body without a length ends with the connection", arguments: LoadForm.allCases)
    func untilClose(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 300_000, seed: 4)
        let url = server.route("/file", .generated(content).untilClose())
        let outcome = try await form.load(url)
        outcome.expectSuccess(content.data)
        #expect(outcome.response?.expectedContentLength == -1)
    }

    @Test("An empty body without a length ends with the connection", arguments: LoadForm.allCases)
    func emptyUntilClose(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .raw("HTTP/1.0 200 OK\r\n\r\n"))
        try await form.load(url).expectSuccess(Data())
    }

    @Test(
        "A server that stops in the middle of a body makes the load fail with networkConnectionLost",
        arguments: LoadForm.allCases)
    func stoppedServer(form: LoadForm) async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        let url = server.route("/file", Reply.generated(size: 300_000).stalled(afterBytes: 1000, until: gate))
        async let outcome = form.load(url)
        await gate.reached()
        server.stop()
        try await outcome.expectFailure(.networkConnectionLost, at: url)
    }
}
