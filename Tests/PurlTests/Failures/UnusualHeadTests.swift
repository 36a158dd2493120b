import Foundation
import Purl
import PurlTesting
import Testing

/// What breaks the grammar or a limit is in the fault matrix.
@Suite("A head at the edge of the grammar", .timeLimit(.minutes(5)))
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

    @Test("What servers do and the grammar allows is taken", arguments: goodHeads)
    func goodHead(name: String, head: String) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .raw(head + "hello", then: .keepOpen))
        for form in LoadForm.allCases { try await form.load(url).expectSuccess(Data("hello".utf8)) }
    }

    @Test("A head in pieces of one byte is the same head", arguments: goodHeads)
    func goodHeadInPieces(name: String, head: String) async throws {
        guard head.utf8.count < 1000 else { return }
        let server = try LoopbackServer()
        let pieces = (head + "hello").utf8.map { Data([$0]) }
        let url = server.route("/file", .raw(pieces, then: .keepOpen))
        try await LoadForm.dataDelegate.load(url).expectSuccess(Data("hello".utf8))
    }
}
