import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The byte counts of transaction metrics", .timeLimit(.minutes(5)))
struct MetricsCountTests {
    private let sandbox = Sandbox()
    private let observer = TaskWitness()

    private func transaction(_ task: URLSessionTask) async throws -> URLSessionTaskTransactionMetrics {
        task.resume()
        await observer.completion()
        return try #require(observer.metrics.last?.transactionMetrics.last)
    }

    static let responses: [(head: String, body: String, content: Int64)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "hello", 5),
        ("HTTP/1.1 204 No Content\r\n\r\n", "", 0),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", 5),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n", 5),
        ("HTTP/1.0 200 OK\r\n\r\n", "until the end", 13),
        ("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok", 2),
    ]

    @Test("The counts of a response are its head, its body with framing, and its content", arguments: responses)
    func response(row: (head: String, body: String, content: Int64)) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .raw(row.head + row.body))
        let session = sandbox.session(observer)
        let transaction = try await transaction(session.dataTask(with: url))
        #expect(transaction.countOfResponseHeaderBytesReceived == Int64(row.head.utf8.count))
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(row.body.utf8.count))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == row.content)
    }

    @Test("The counts of a coded response are the bytes received and the bytes decoded")
    func coded() async throws {
        // "hello, hello, hello"
        let gzip = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA=") ?? Data()
        let server = try LoopbackServer()
        let url = server.route("/file", .bytes(gzip).field("Content-Encoding", "gzip"))
        let session = sandbox.session(observer)
        let transaction = try await transaction(session.dataTask(with: url))
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(gzip.count))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 19)
    }

    @Test("The counts of a request are exactly its bytes")
    func request() async throws {
        let heads = LockedValue<[String]>([])
        let listener = try await RawListener.started { peer in
            guard let head = await peer.head() else { return }
            heads.withLock { $0.append(head) }
            _ = await peer.bytes(8)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            _ = await peer.rest()
        }
        let session = sandbox.session(observer)
        var request = URLRequest(url: try listener.url("/upload"))
        request.httpMethod = "POST"
        let transaction = try await transaction(session.uploadTask(with: request, from: Data("the body".utf8)))
        let head = try #require(heads.withLock { $0.first })
        #expect(transaction.countOfRequestHeaderBytesSent == Int64(head.utf8.count))
        #expect(transaction.countOfRequestBodyBytesSent == 8)
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 8)
    }

    @Test("The counts of a file upload are the file's bytes")
    func fileUpload() async throws {
        let server = try LoopbackServer()
        let file = sandbox.folder.appendingPathComponent("upload")
        try Data(count: 3_000_000).write(to: file)
        var request = URLRequest(url: server.route("/upload", .text("thanks")))
        request.httpMethod = "PUT"
        let session = sandbox.session(observer)
        let transaction = try await transaction(session.uploadTask(with: request, fromFile: file))
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 3_000_000)
        #expect(transaction.countOfRequestBodyBytesSent == 3_000_000)
        #expect(server.requests.first?.body.count == 3_000_000)
    }

    @Test("The counts of a chunked request body are the bytes read and the bytes sent")
    func chunks() async throws {
        let server = try LoopbackServer()
        let url = server.route("/upload", .text("thanks"))
        let session = sandbox.session(observer)
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data(repeating: 7, count: 1000))
        let transaction = try await transaction(session.dataTask(with: request))
        #expect(transaction.countOfRequestBodyBytesBeforeEncoding == 1000)
        #expect(transaction.countOfRequestBodyBytesSent > 1000)
        #expect(server.requests.first?.body.count == 1000)
        let dates = MetricsTests.dates(transaction)
        #expect(dates.count == 9)
        #expect(dates == dates.sorted())
    }

    @Test(
        "The counts of a download are its file's bytes, also when they do not pass through the process",
        arguments: [300_000, 3_000_000])
    func download(size: Int) async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .generated(size: size))
        let session = sandbox.session(observer)
        let transaction = try await transaction(session.downloadTask(with: url))
        #expect(transaction.countOfResponseBodyBytesReceived == Int64(size))
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == Int64(size))
        #expect(observer.events == [.created, .file, .metrics(transactions: 1), .completed(nil)])
    }
}
