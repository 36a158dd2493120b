import Foundation
import Purl
import PurlTesting
import Testing

/// What is broken fails in the fault matrix.
@Suite("Chunked bodies", .timeLimit(.minutes(5)))
struct ChunkedBodyTests {
    @Test("The chunks before the broken one were delivered")
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

    @Test("What the grammar allows is decoded", arguments: goodBodies)
    func goodBody(name: String, body: String) async throws {
        let server = try LoopbackServer()
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        let url = server.route("/file", .raw(text, then: .keepOpen))
        for form in LoadForm.allCases { try await form.load(url).expectSuccess(Data("hello".utf8)) }
        server.route("/file", .raw(text.utf8.map { Data([$0]) }, then: .keepOpen))
        for form in LoadForm.allCases { try await form.load(url).expectSuccess(Data("hello".utf8)) }
    }

    @Test("Sizes in hexadecimal digits of both cases", arguments: ["1a", "1A"])
    func hexadecimal(size: String) async throws {
        let server = try LoopbackServer()
        let letters = "abcdefghijklmnopqrstuvwxyz"
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let url = server.route("/file", .raw(head + "\(size)\r\n\(letters)\r\n0\r\n\r\n", then: .keepOpen))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data(letters.utf8))
    }
}
