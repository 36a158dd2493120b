import Foundation
import Purl
import PurlTesting
import Testing

@Suite("A chunked body that is broken: cannotDecodeRawData", .timeLimit(.minutes(5)))
struct MalformedBodyTests {
    static let chunks: [BadResponse] = [
        .chunks("a size of letters", "zz\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a signed size", "+5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a blank before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a blank in the size", "5 5\r\nhello\r\n0\r\n\r\n"),
        .chunks("no size", "\r\nhello\r\n0\r\n\r\n"),
        .chunks("an extension without a size", ";a=b\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size beyond 63 bits", "8000000000000000\r\nhello"),
        .chunks("a size that wraps around", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size of 70 digits", String(repeating: "f", count: 70) + "\r\nhello"),
        .chunks("data longer than its size", "4\r\nhello\r\n0\r\n\r\n"),
        .chunks("data shorter than its size", "6\r\nhello\r\n0\r\n\r\n"),
        .chunks("data without a line end", "5\r\nhello0\r\n\r\n"),
        .chunks("CR after the data without LF", "5\r\nhello\r0\r\n\r\n"),
        .chunks("CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        .chunks("NUL in an extension", "5;a\u{0}b\r\nhello\r\n0\r\n\r\n"),
    ]

    static let limits: [BadResponse] = [
        .chunks(
            "an extension of 5000 bytes", .cannotParseResponse, "5;a=" + String(repeating: "x", count: 5000) + "\r\n"),
        .chunks("a size of 5000 zeros", .cannotParseResponse, String(repeating: "0", count: 5000)),
        .chunks(
            "trailers of 20 000 bytes", .cannotParseResponse,
            "0\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n"),
        .chunks(
            "300 trailers", .cannotParseResponse, "0\r\n" + (0..<300).map { "X\($0): y\r\n" }.joined() + "\r\n"),
    ]

    @Test("chunk", arguments: chunks, LoadForm.allCases)
    func chunk(bad: BadResponse, form: LoadForm) async throws { try await expectFailure(bad, form) }

    @Test("limit", arguments: limits, LoadForm.allCases)
    func limit(bad: BadResponse, form: LoadForm) async throws { try await expectFailure(bad, form) }

    @Test("A trailer that is no field fails like a head that holds none", arguments: LoadForm.allCases)
    func trailer(form: LoadForm) async throws {
        try await expectFailure(.chunks("trailer", .badServerResponse, "0\r\nX : y\r\n\r\n"), form)
    }

    private func expectFailure(_ bad: BadResponse, _ form: LoadForm) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .raw(bad.text, then: .keepOpen))
        let outcome = try await form.load(url)
        outcome.expectFailure(bad.code, at: url)
        await server.waitUntilDisconnected()
    }

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
