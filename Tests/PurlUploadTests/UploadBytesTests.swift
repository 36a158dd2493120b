import Foundation
import Purl
import Testing

@testable import SessionFixtures

@Suite("The bytes of an upload", .timeLimit(.minutes(5)))
struct UploadBytesTests {
    private let sandbox = Sandbox()

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The fields between the client's default ones and the empty line.
        let fields: String
        let body: String
        let make: @Sendable (URLSession, inout URLRequest, Sandbox) throws -> URLSessionTask
    }

    static let rows: [Row] = [
        Row(testDescription: "data", fields: "Content-Length: 5\r\n", body: "hello") { session, request, _ in
            session.uploadTask(with: request, from: Data("hello".utf8))
        },
        Row(testDescription: "no data", fields: "Content-Length: 0\r\n", body: "") { session, request, _ in
            session.uploadTask(with: request, from: Data())
        },
        Row(testDescription: "a file", fields: "Content-Length: 5\r\n", body: "hello") { session, request, sandbox in
            try Data("hello".utf8).write(to: sandbox.file("upload"))
            return session.uploadTask(with: request, fromFile: sandbox.file("upload"))
        },
        Row(testDescription: "an empty file", fields: "Content-Length: 0\r\n", body: "") { session, request, sandbox in
            try Data().write(to: sandbox.file("upload"))
            return session.uploadTask(with: request, fromFile: sandbox.file("upload"))
        },
        stream("a stream", fields: "Transfer-Encoding: chunked\r\n", body: "5\r\nhello\r\n0\r\n\r\n", "hello"),
        stream("an empty stream", fields: "Transfer-Encoding: chunked\r\n", body: "0\r\n\r\n", ""),
        stream(
            "a stream longer than 15 bytes", fields: "Transfer-Encoding: chunked\r\n",
            body: "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", "abcdefghijklmnopqrstuvwxyz"),
        stream("a stream with a length", fields: "Content-Length: 5\r\n", body: "hello", "hello") {
            $0.setValue("5", forHTTPHeaderField: "content-length")
        },
        stream("an empty stream with a length", fields: "Content-Length: 0\r\n", body: "", "") {
            $0.setValue("0", forHTTPHeaderField: "Content-Length")
        },
        stream(
            "a stream with a length that is none", fields: "Transfer-Encoding: chunked\r\n",
            body: "5\r\nhello\r\n0\r\n\r\n", "hello"
        ) {
            $0.setValue("+5", forHTTPHeaderField: "Content-Length")
        },
        stream(
            "the caller's own Transfer-Encoding", fields: "Transfer-Encoding: chunked\r\n",
            body: "5\r\nhello\r\n0\r\n\r\n", "hello"
        ) {
            $0.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
        },
        Row(
            testDescription: "a request with a stream", fields: "Transfer-Encoding: chunked\r\n",
            body: "5\r\nhello\r\n0\r\n\r\n"
        ) { session, request, _ in
            request.httpBodyStream = InputStream(data: Data("hello".utf8))
            return session.dataTask(with: request)
        },
        Row(
            testDescription: "without content, nothing is expected", fields: "Content-Length: 0\r\n", body: ""
        ) { session, request, _ in
            request.setValue("100-continue", forHTTPHeaderField: "Expect")
            return session.uploadTask(with: request, from: Data())
        },
    ]

    private static func stream(
        _ name: String, fields: String, body: String, _ content: String,
        _ change: @escaping @Sendable (inout URLRequest) -> Void = { _ in }
    ) -> Row {
        Row(testDescription: name, fields: fields, body: body) { session, request, _ in
            change(&request)
            // The request's stream is used when the delegate has none.
            request.httpBodyStream = InputStream(data: Data(content.utf8))
            return session.uploadTask(withStreamedRequest: request)
        }
    }

    @Test("Head and body of the upload are exactly these bytes", arguments: rows, ["POST", "PUT"])
    func bytes(row: Row, method: String) async throws {
        let seen = LockedValue((head: "", body: Data()))
        let listener = try await RawListener.started { peer in
            let head = await peer.head() ?? ""
            let body = await peer.bytes(row.body.utf8.count)
            seen.withLock { $0 = (head, body) }
            peer.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            // Any bytes after the message are found here.
            let rest = await peer.rest()
            seen.withLock { $0.body.append(rest) }
        }
        let witness = Witness()
        let session = sandbox.session(witness)
        var request = Upload.request(try listener.url("/file"), method)
        try row.make(session, &request, sandbox).resume()
        await witness.completion()
        #expect(witness.events.last == .completed(nil))
        session.finishTasksAndInvalidate()
        await witness.wait { $0.last == .invalid }
        let (head, body) = seen.withLock { $0 }
        #expect(
            head == "\(method) /file HTTP/1.1\r\nHost: 127.0.0.1:\(listener.port)\r\nAccept: */*\r\n"
                + "Accept-Encoding: gzip, deflate\r\nUser-Agent: Purl/1.0\r\n\(row.fields)\r\n")
        #expect(String(decoding: body, as: UTF8.self) == row.body)
    }

    @Test("Each read of a stream is a chunk")
    func chunks() async throws {
        let seen = LockedValue(Data())
        let expected = "3\r\nabc\r\n3\r\ndef\r\n1\r\ng\r\n0\r\n\r\n"
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            let body = await peer.bytes(expected.utf8.count)
            seen.withLock { $0 = body }
            peer.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        }
        var request = Upload.request(try listener.url("/file"))
        request.httpBodyStream = PiecewiseStream(["abc", "def", "g"])
        try await LoadForm.dataDelegate.load(request).expectSuccess(Data())
        #expect(String(decoding: seen.withLock { $0 }, as: UTF8.self) == expected)
    }
}

/// A stream that returns one text per read.
private final class PiecewiseStream: InputStream {
    private let pieces: LockedValue<[String]>

    init(_ pieces: [String]) {
        self.pieces = LockedValue(pieces)
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { .open }
    override func close() {}

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        pieces.withLock { pieces in
            guard !pieces.isEmpty else { return 0 }
            let piece = Data(pieces.removeFirst().utf8.prefix(length))
            piece.copyBytes(to: buffer, count: piece.count)
            return piece.count
        }
    }
}
