import Foundation
import Purl
import Testing

@testable import SessionFixtures

@Suite("The bytes of a request", .timeLimit(.minutes(5)))
struct RequestBytesTests {
    private let sandbox = Sandbox()

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var path = "/"
        var additional: [String: String] = [:]
        var change: @Sendable (inout URLRequest) -> Void = { _ in }
        /// With `%HOST%` for the address and port.
        let bytes: String
        var body = ""
    }

    private static let defaults = "Accept: */*\r\nAccept-Encoding: gzip, deflate\r\nUser-Agent: Purl/1.0\r\n"
    /// The default fields of a download.
    private static let plainDefaults = defaults.replacingOccurrences(of: "gzip, deflate", with: "identity")

    private static func get(_ target: String) -> String {
        "GET \(target) HTTP/1.1\r\nHost: %HOST%\r\n\(defaults)\r\n"
    }

    private static func target(_ path: String, _ target: String) -> Row {
        Row(testDescription: "target of \(path.isEmpty ? "nothing" : path)", path: path, bytes: get(target))
    }

    private static func method(_ method: String?, _ name: String, length: Bool = false) -> Row {
        Row(
            testDescription: "method \(method ?? "nil")", change: { $0.httpMethod = method },
            bytes: "\(name) / HTTP/1.1\r\nHost: %HOST%\r\n\(defaults)\(length ? "Content-Length: 0\r\n" : "")\r\n")
    }

    private static func fields(
        _ name: String, _ lines: String, additional: [String: String] = [:],
        _ change: @escaping @Sendable (inout URLRequest) -> Void = { _ in }
    ) -> Row {
        Row(
            testDescription: name, additional: additional, change: change,
            bytes: "GET / HTTP/1.1\r\nHost: %HOST%\r\n\(lines)\r\n")
    }

    private static func post(
        _ name: String, _ lines: String, _ body: String, _ change: @escaping @Sendable (inout URLRequest) -> Void
    ) -> Row {
        Row(
            testDescription: name, change: change,
            bytes: "POST / HTTP/1.1\r\nHost: %HOST%\r\n\(lines)\r\n", body: body)
    }

    private static func untyped(_ method: String) -> Row {
        Row(
            testDescription: "\(method) with a body, which is not called a form",
            change: {
                $0.httpMethod = method
                $0.httpBody = Data("hello".utf8)
            },
            bytes: "\(method) / HTTP/1.1\r\nHost: %HOST%\r\n\(defaults)Content-Length: 5\r\n\r\n", body: "hello")
    }

    static let targets: [Row] = [
        target("", "/"), target("/", "/"), target("?q", "/?q"), target("#f", "/"), target("/?", "/?"),
        target("/file", "/file"), target("/dir/", "/dir/"), target("/file?a=b&c=d", "/file?a=b&c=d"),
        target("/file#fragment", "/file"), target("/file?a=b#fragment", "/file?a=b"),
        target("/file?a?b/c", "/file?a?b/c"),
        target("/a%20b", "/a%20b"), target("/a b", "/a%20b"), target("/a+b", "/a+b"),
        target("/%41%2F%3F", "/%41%2F%3F"),
        target("/中文?键=值#部", "/%E4%B8%AD%E6%96%87?%E9%94%AE=%E5%80%BC"), target("/ä", "/%C3%A4"),
        target("/a//b", "/a//b"), target("//a", "//a"), target("/a/../b/./c", "/b/c"),
        target("/a;b=c,d", "/a;b=c,d"),
        target("/~user/(x)!*'$@:", "/~user/(x)!*'$@:"), target("/a?b=%00", "/a?b=%00"),
        target("/\"<>`{}|^\\", "/%22%3C%3E%60%7B%7D%7C%5E%5C"),
    ]

    static let methods: [Row] = [
        method(nil, "GET"), method("GET", "GET"), method("HEAD", "HEAD"), method("DELETE", "DELETE"),
        method("OPTIONS", "OPTIONS"), method("TRACE", "TRACE"), method("PROPFIND", "PROPFIND"),
        method("X-Own", "X-Own"),
        method("foo", "foo"), method("patch", "patch"), method("get", "GET"), method("Head", "HEAD"),
        method("delete", "DELETE"),
        method("POST", "POST", length: true), method("post", "POST", length: true), method("PUT", "PUT", length: true),
        method("put", "PUT", length: true), method("PATCH", "PATCH", length: true),
    ]

    static let headers: [Row] = [
        fields("order and spelling are kept", "X-b: 1\r\nx-A: 2\r\nX-c: 3\r\n\(defaults)") {
            $0.setValue("1", forHTTPHeaderField: "X-b")
            $0.setValue("2", forHTTPHeaderField: "x-A")
            $0.setValue("3", forHTTPHeaderField: "X-c")
        },
        fields("a replaced field keeps its place", "X: 3\r\nY: 2\r\n\(defaults)") {
            $0.setValue("1", forHTTPHeaderField: "X")
            $0.setValue("2", forHTTPHeaderField: "Y")
            $0.setValue("3", forHTTPHeaderField: "X")
        },
        fields("added values are joined", "X: 1,2\r\n\(defaults)") {
            $0.addValue("1", forHTTPHeaderField: "X")
            $0.addValue("2", forHTTPHeaderField: "x")
        },
        fields("an empty value", "X: \r\n\(defaults)") { $0.setValue("", forHTTPHeaderField: "X") },
        fields("letters outside ASCII", "X: ä中\r\n\(defaults)") { $0.setValue("ä中", forHTTPHeaderField: "X") },
        fields("Accept", "Accept: text/html\r\nAccept-Encoding: gzip, deflate\r\nUser-Agent: Purl/1.0\r\n") {
            $0.setValue("text/html", forHTTPHeaderField: "Accept")
        },
        fields("all three in small letters", "accept: a\r\naccept-encoding: b\r\nuser-agent: c\r\n") {
            $0.setValue("a", forHTTPHeaderField: "accept")
            $0.setValue("b", forHTTPHeaderField: "accept-encoding")
            $0.setValue("c", forHTTPHeaderField: "user-agent")
        },
        fields("Host", defaults) { _ in },
        fields("Connection", "Connection: close\r\n\(defaults)") {
            $0.setValue("close", forHTTPHeaderField: "Connection")
        },
        fields("Range", "Range: bytes=0-4\r\n\(plainDefaults)") {
            $0.setValue("bytes=0-4", forHTTPHeaderField: "Range")
        },
        fields("fields that describe the message are not the user's", defaults) {
            for name in ["Content-Length", "Transfer-Encoding", "TE", "Trailer", "content-length"] {
                $0.setValue("7", forHTTPHeaderField: name)
            }
        },
        fields(
            "the session's fields come after the request's", "X: 1\r\nA: 3\r\nB: 2\r\n\(defaults)",
            additional: ["B": "2", "A": "3"]
        ) {
            $0.setValue("1", forHTTPHeaderField: "X")
        },
        fields("the request goes before the session", "x-own: request\r\n\(defaults)", additional: ["X-Own": "session"])
        {
            $0.setValue("request", forHTTPHeaderField: "x-own")
        },
        fields(
            "the session goes before the defaults", "Accept: a\r\nUser-Agent: c\r\naccept-encoding: b\r\n",
            additional: ["Accept": "a", "accept-encoding": "b", "User-Agent": "c"]),
        fields(
            "nor does the session describe the message", defaults,
            additional: ["Content-Length": "7", "Transfer-Encoding": "chunked"]),
    ]

    static let bodies: [Row] = [
        post("a body", defaults + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n", "hello") {
            $0.httpMethod = "POST"
            $0.httpBody = Data("hello".utf8)
        },
        post("an empty body, which has no type", defaults + "Content-Length: 0\r\n", "") {
            $0.httpMethod = "POST"
            $0.httpBody = Data()
        },
        post(
            "a type of the request's own", "content-type: text/plain\r\n" + defaults + "Content-Length: 5\r\n", "hello"
        ) {
            $0.httpMethod = "POST"
            $0.httpBody = Data("hello".utf8)
            $0.setValue("text/plain", forHTTPHeaderField: "content-type")
        },
        post(
            "a length of the request's own",
            defaults + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n", "hello"
        ) {
            $0.httpMethod = "POST"
            $0.httpBody = Data("hello".utf8)
            $0.setValue("4", forHTTPHeaderField: "Content-Length")
            $0.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding")
        },
        Row(
            testDescription: "GET with a body", change: { $0.httpBody = Data("hello".utf8) },
            bytes: "GET / HTTP/1.1\r\nHost: %HOST%\r\n" + defaults + "Content-Length: 5\r\n\r\n", body: "hello"),
        Row(
            testDescription: "bytes that are no text",
            change: {
                $0.httpMethod = "PUT"
                $0.httpBody = Data("\r\n\r\n\0".utf8)
            },
            bytes: "PUT / HTTP/1.1\r\nHost: %HOST%\r\n" + defaults + "Content-Length: 5\r\n\r\n", body: "\r\n\r\n\0"),
        Row(
            testDescription: "OPTIONS, whose content has to have a type",
            change: {
                $0.httpMethod = "OPTIONS"
                $0.httpBody = Data("hello".utf8)
            },
            bytes: "OPTIONS / HTTP/1.1\r\nHost: %HOST%\r\n" + defaults
                + "Content-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\n", body: "hello"),
        Row(
            testDescription: "a type of the session's", additional: ["Content-Type": "text/csv"],
            change: {
                $0.httpMethod = "POST"
                $0.httpBody = Data("hello".utf8)
            },
            bytes: "POST / HTTP/1.1\r\nHost: %HOST%\r\nContent-Type: text/csv\r\n" + defaults
                + "Content-Length: 5\r\n\r\n", body: "hello"),
        untyped("PATCH"), untyped("DELETE"), untyped("QUERY"),
    ]

    @Test("The request target is percent-encoded as needed, and a path is never empty", arguments: targets)
    func target(row: Row) async throws { try await expectBytes(row) }

    @Test("The request line and fields are those of the method", arguments: methods)
    func method(row: Row) async throws { try await expectBytes(row) }

    @Test("The header fields are in this order and spelling", arguments: headers)
    func header(row: Row) async throws { try await expectBytes(row) }

    @Test("The body has these fields and bytes", arguments: bodies)
    func body(row: Row) async throws { try await expectBytes(row) }

    @Test(
        "A download's request has the same bytes but for Accept-Encoding",
        arguments: [targets[0], methods[0], headers[0]])
    func download(row: Row) async throws {
        let plain = Row(
            testDescription: row.testDescription, path: row.path, additional: row.additional, change: row.change,
            bytes: row.bytes.replacingOccurrences(of: Self.defaults, with: Self.plainDefaults), body: row.body)
        try await expectBytes(plain, as: .downloadAsync)
    }

    private func expectBytes(_ row: Row, as form: LoadForm = .dataDelegate) async throws {
        let seen = LockedValue((head: "", body: Data()))
        let length = row.body.utf8.count
        let listener = try await RawListener.started { peer in
            let head = await peer.head() ?? ""
            let body = await peer.bytes(length)
            seen.withLock { $0 = (head, body) }
            peer.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            // Any bytes after the message are found here.
            let rest = await peer.rest()
            seen.withLock { $0.body.append(rest) }
        }
        let base = "http://127.0.0.1:\(listener.port)"
        var request = URLRequest(url: try #require(URL(string: base + row.path)))
        row.change(&request)
        let outcome = try await form.load(request) { configuration in
            if !row.additional.isEmpty { configuration.httpAdditionalHeaders = row.additional }
        }
        outcome.expectSuccess(Data())
        let (head, body) = seen.withLock { $0 }
        #expect(head == row.bytes.replacingOccurrences(of: "%HOST%", with: "127.0.0.1:\(listener.port)"))
        #expect(body == Data(row.body.utf8))
    }

    @Test("The user and password of a URL are not sent")
    func userinfo() async throws {
        let seen = LockedValue("")
        let listener = try await RawListener.started { peer in
            let head = await peer.head() ?? ""
            seen.withLock { $0 = head }
            peer.send("HTTP/1.1 204 No Content\r\n\r\n")
            _ = await peer.rest()
        }
        let url = try #require(URL(string: "http://user:pass@127.0.0.1:\(listener.port)/file"))
        let outcome = try await LoadForm.dataDelegate.load(url)
        outcome.expectSuccess(Data())
        #expect(
            seen.withLock { $0 }
                == Self.get("/file").replacingOccurrences(of: "%HOST%", with: "127.0.0.1:\(listener.port)"))
    }

    @Test("Changes to a request after its task was made are not sent")
    func copy() async throws {
        let seen = LockedValue("")
        let listener = try await RawListener.started { peer in
            let head = await peer.head() ?? ""
            seen.withLock { $0 = head }
            peer.send("HTTP/1.1 204 No Content\r\n\r\n")
            _ = await peer.rest()
        }
        let witness = Witness()
        let session = sandbox.session(witness)
        var request = URLRequest(url: try listener.url("/before"))
        let task = session.dataTask(with: request)
        request.url = try listener.url("/after")
        request.httpMethod = "DELETE"
        task.resume()
        await witness.completion()
        #expect(seen.withLock { $0 }.hasPrefix("GET /before HTTP/1.1\r\n"))
    }
}
