import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("URLRequest")
struct URLRequestTests {
    private let url = URL(string: "http://a.example/file")

    private func request() throws -> URLRequest { URLRequest(url: try #require(url)) }

    @Test("A new request has the default values")
    func defaults() throws {
        let request = try request()
        #expect(request.url == url)
        #expect(request.httpMethod == "GET")
        #expect(request.cachePolicy == .useProtocolCachePolicy)
        #expect(request.timeoutInterval == 60)
        #expect(request.mainDocumentURL == nil)
        #expect(request.networkServiceType == .default)
        #expect(request.allowsCellularAccess)
        #expect(request.httpBody == nil)
        #expect(request.allHTTPHeaderFields == nil)
        #expect(request.value(forHTTPHeaderField: "Host") == nil)
    }

    @Test("A copy is independent")
    func copies() throws {
        let original = try request()
        var copy = original
        #expect(copy == original)
        copy.setValue("1", forHTTPHeaderField: "X")
        copy.httpMethod = "POST"
        copy.httpBody = Data("hello".utf8)
        #expect(original.allHTTPHeaderFields == nil)
        #expect(original.httpMethod == "GET")
        #expect(original.httpBody == nil)
        #expect(copy != original)
    }

    static let changes: [(name: String, change: @Sendable (inout URLRequest) -> Void)] = [
        ("url", { $0.url = URL(string: "http://a.example/other") }), ("no url", { $0.url = nil }),
        ("method", { $0.httpMethod = "POST" }),
        ("cache policy", { $0.cachePolicy = .reloadIgnoringLocalCacheData }),
        ("document", { $0.mainDocumentURL = URL(string: "http://a.example/") }),
        ("cookies", { $0.httpShouldHandleCookies = false }),
        ("cellular", { $0.allowsCellularAccess = false }),
    ]

    @Test(
        "Requests that differ in a property of their identity, as in their URL, are not equal and have other hashes",
        arguments: changes)
    func equality(name: String, change: @Sendable (inout URLRequest) -> Void) throws {
        let original = try request()
        var changed = original
        change(&changed)
        #expect(changed != original)
        if name != "cache policy" { #expect(changed.hashValue != original.hashValue) }
        var again = original
        change(&again)
        #expect(again == changed)
        #expect(again.hashValue == changed.hashValue)
        #expect(Set([original, changed, again]).count == 2)
    }

    static let details: [(name: String, change: @Sendable (inout URLRequest) -> Void)] = [
        ("body", { $0.httpBody = Data("hello".utf8) }), ("field", { $0.setValue("1", forHTTPHeaderField: "X") }),
        ("time-out", { $0.timeoutInterval = 5 }),
        ("service", { $0.networkServiceType = .video }), ("pipelining", { $0.httpShouldUsePipelining = true }),
    ]

    @Test("A stream differs from none and from any other, and is equal to itself")
    func equalityOfStreams() throws {
        let plain = try request()
        let stream = InputStream(data: Data("hello".utf8))
        var one = plain
        one.httpBodyStream = stream
        var same = plain
        same.httpBodyStream = stream
        var other = plain
        other.httpBodyStream = InputStream(data: Data("hello".utf8))
        #expect(one == same && one.hashValue == same.hashValue)
        #expect(one != plain && one.hashValue != plain.hashValue)
        #expect(one != other && one.hashValue != other.hashValue)
        #expect(Set([plain, one, same, other]).count == 3)
        #expect(NSURLRequest(one).isEqual(NSURLRequest(same)) && !NSURLRequest(one).isEqual(NSURLRequest(other)))
        one.httpBodyStream = nil
        #expect(one == plain)
    }

    @Test("As in Foundation, fields, body and time-out do not count for equality", arguments: details)
    func equalityWithout(name: String, change: @Sendable (inout URLRequest) -> Void) throws {
        let original = try request()
        var changed = original
        change(&changed)
        #expect(changed == original)
        #expect(changed.hashValue == original.hashValue)
    }

    @Test("init makes a relative URL absolute, the setter keeps it relative, and a task loads it")
    func relativeURL() async throws {
        let server = try LoopbackServer()
        server.route("/dir/file", .text("hello"))
        let relative = try #require(URL(string: "file?x=1", relativeTo: server.url("/dir/other")))
        var request = URLRequest(url: relative)
        #expect(request.url?.baseURL == nil)
        #expect(request.url?.absoluteString == relative.absoluteString)
        #expect(NSURLRequest(url: relative).url?.baseURL == nil)
        #expect(URLRequest(url: relative, cachePolicy: .useProtocolCachePolicy, timeoutInterval: 1).url?.baseURL == nil)
        request.url = relative
        #expect(request.url?.baseURL == server.url("/dir/other"))
        #expect(request.url?.relativeString == "file?x=1")
        request.mainDocumentURL = relative
        #expect(request.mainDocumentURL?.baseURL != nil)
        let outcome = try await LoadForm.dataAsync.load(request)
        outcome.expectSuccess(Data("hello".utf8))
        #expect(server.requests.map(\.target) == ["/dir/file?x=1"])
    }

    @Test("A field's first spelling stays when it is set again in another case")
    func spelling() throws {
        var request = try request()
        request.setValue("1", forHTTPHeaderField: "x-Abc")
        request.setValue("2", forHTTPHeaderField: "X-ABC")
        #expect(request.allHTTPHeaderFields == ["x-Abc": "2"])
        request.addValue("3", forHTTPHeaderField: "X-abc")
        #expect(request.allHTTPHeaderFields == ["x-Abc": "2,3"])
        request.setValue(nil, forHTTPHeaderField: "X-ABC")
        request.setValue("4", forHTTPHeaderField: "X-ABC")
        #expect(request.allHTTPHeaderFields == ["X-ABC": "4"])
    }

    @Test(
        "A value with CR, LF or NUL is not taken",
        arguments: ["a\r\nb", "a\rb", "a\nb", "a\0b", "a\n", "a\r\n", "\na", "a\n b", "a\r\n \r\nb", "a\r\r\n b"])
    func unsafeValue(value: String) throws {
        var request = try request()
        request.setValue(value, forHTTPHeaderField: "X")
        request.addValue(value, forHTTPHeaderField: "Y")
        #expect(request.allHTTPHeaderFields == nil)
        request.setValue("1", forHTTPHeaderField: "X")
        request.setValue(value, forHTTPHeaderField: "X")
        request.addValue(value, forHTTPHeaderField: "X")
        #expect(request.allHTTPHeaderFields == ["X": "1"])
        request.allHTTPHeaderFields = ["X": value, "Y": "2"]
        #expect(request.allHTTPHeaderFields == ["Y": "2"])
        let object = NSMutableURLRequest(url: try #require(url))
        object.setValue(value, forHTTPHeaderField: "X")
        #expect(object.value(forHTTPHeaderField: "X") == nil)
    }

    @Test("A folded value is taken as it is and sent in one line", arguments: ["a\r\n b", "a\r\n\tb"])
    func foldedValue(value: String) async throws {
        let server = try LoopbackServer()
        var request = URLRequest(url: server.route("/file", .text("hello")))
        request.setValue(value, forHTTPHeaderField: "X")
        #expect(request.value(forHTTPHeaderField: "X") == value)
        try await LoadForm.dataAsync.load(request).expectSuccess(Data("hello".utf8))
        #expect(server.requests.first?.fields["X"] == "a b")
        #expect(server.record.badRequests == [])
    }

    @Test("Field names are compared in any case")
    func fieldNames() throws {
        var request = try request()
        request.setValue("1", forHTTPHeaderField: "Content-Type")
        #expect(request.value(forHTTPHeaderField: "content-type") == "1")
        #expect(request.value(forHTTPHeaderField: "CONTENT-TYPE") == "1")
        request.setValue("2", forHTTPHeaderField: "content-type")
        #expect(request.allHTTPHeaderFields?.count == 1)
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "2")
        request.setValue(nil, forHTTPHeaderField: "CONTENT-type")
        #expect(request.value(forHTTPHeaderField: "Content-Type") == nil)
        #expect(request.allHTTPHeaderFields == [:])
        request.setValue(nil, forHTTPHeaderField: "Never")
    }

    @Test("addValue joins values with a comma")
    func addValue() throws {
        var request = try request()
        request.addValue("1", forHTTPHeaderField: "X")
        request.addValue("2", forHTTPHeaderField: "x")
        request.addValue("3", forHTTPHeaderField: "X")
        #expect(request.value(forHTTPHeaderField: "X") == "1,2,3")
        #expect(request.allHTTPHeaderFields == ["X": "1,2,3"])
    }

    @Test("allHTTPHeaderFields replaces all fields")
    func allFields() throws {
        var request = try request()
        request.setValue("1", forHTTPHeaderField: "Old")
        request.allHTTPHeaderFields = ["A": "1", "b": "2"]
        #expect(request.allHTTPHeaderFields == ["A": "1", "b": "2"])
        #expect(request.value(forHTTPHeaderField: "Old") == nil)
        request.allHTTPHeaderFields = nil
        #expect(request.allHTTPHeaderFields == nil)
        request.allHTTPHeaderFields = [:]
        #expect(request.value(forHTTPHeaderField: "A") == nil)
    }

    @Test("A method of nil is GET")
    func noMethod() throws {
        var request = try request()
        request.httpMethod = "POST"
        request.httpMethod = nil
        #expect(request.httpMethod == "GET")
    }

    @Test(
        "Known methods are converted to capitals, others are kept",
        arguments: [
            ("get", "GET"), ("gEt", "GET"), ("head", "HEAD"), ("post", "POST"), ("put", "PUT"), ("Delete", "DELETE"),
            ("connect", "CONNECT"), ("patch", "patch"), ("options", "options"), ("foo", "foo"), ("Foo", "Foo"),
        ])
    func methodCase(method: String, expected: String) throws {
        var request = try request()
        request.httpMethod = method
        #expect(request.httpMethod == expected)
    }

    @Test("The description is the URL")
    func descriptions() throws {
        var request = try request()
        #expect(request.description == "http://a.example/file")
        #expect("\(request)" == "http://a.example/file")
        #expect(request.debugDescription == "http://a.example/file")
        #expect(Mirror(reflecting: request).children.contains { $0.label == "url" })
        request.url = nil
        #expect(!request.description.isEmpty)
    }
}

@Suite("URLSessionConfiguration")
struct ConfigurationTests {
    @Test("A new configuration has the default values", arguments: [URLSessionConfiguration.default, .ephemeral])
    func defaults(configuration: URLSessionConfiguration) {
        #expect(configuration.identifier == nil)
        #expect(configuration.requestCachePolicy == .useProtocolCachePolicy)
        #expect(configuration.timeoutIntervalForRequest == 60)
        #expect(configuration.timeoutIntervalForResource == 604_800)
        #expect(configuration.httpMaximumConnectionsPerHost == 6)
        #expect(configuration.httpAdditionalHeaders == nil)
        #expect(configuration.allowsCellularAccess)
        #expect(configuration.partialDownloadsDirectory == nil)
        #expect(configuration.limits.bufferedBytesPerTask == 1 << 20)
    }

    private func change(_ configuration: URLSessionConfiguration) {
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.timeoutIntervalForRequest = 5
        configuration.timeoutIntervalForResource = 6
        configuration.networkServiceType = .voice
        configuration.allowsCellularAccess = false
        configuration.httpMaximumConnectionsPerHost = 2
        configuration.httpAdditionalHeaders = ["X": "1"]
        configuration.partialDownloadsDirectory = URL(fileURLWithPath: "/tmp/partials")
        configuration.limits.bufferedBytesPerTask = 1000
    }

    private func isChanged(_ configuration: URLSessionConfiguration) -> [Bool] {
        [
            configuration.requestCachePolicy == .reloadIgnoringLocalCacheData,
            configuration.timeoutIntervalForRequest == 5,
            configuration.timeoutIntervalForResource == 6,
            configuration.networkServiceType == .voice, !configuration.allowsCellularAccess,
            configuration.httpMaximumConnectionsPerHost == 2,
            configuration.httpAdditionalHeaders as? [String: String] == ["X": "1"],
            configuration.partialDownloadsDirectory?.path == "/tmp/partials",
            configuration.limits.bufferedBytesPerTask == 1000,
        ]
    }

    @Test("default is a new configuration each time")
    func newDefault() {
        change(.default)
        #expect(isChanged(.default) == Array(repeating: false, count: 9))
    }

    @Test("A copy has the same values and is independent")
    func copy() throws {
        let original = URLSessionConfiguration.default
        change(original)
        let copy = try #require(original.copy() as? URLSessionConfiguration)
        #expect(copy !== original)
        #expect(isChanged(copy) == Array(repeating: true, count: 9))
        original.timeoutIntervalForRequest = 7
        #expect(copy.timeoutIntervalForRequest == 5)
        copy.httpAdditionalHeaders = nil
        #expect(original.httpAdditionalHeaders as? [String: String] == ["X": "1"])
    }

    @Test("A session keeps a copy of its configuration, and returns copies")
    func session() {
        let configuration = URLSessionConfiguration.default
        change(configuration)
        let session = URLSession(configuration: configuration)
        configuration.timeoutIntervalForRequest = 7
        configuration.httpAdditionalHeaders = nil
        #expect(isChanged(session.configuration) == Array(repeating: true, count: 9))
        session.configuration.timeoutIntervalForRequest = 8
        #expect(session.configuration.timeoutIntervalForRequest == 5)
        #expect(session.configuration !== session.configuration)
        session.finishTasksAndInvalidate()
    }

    @Test("Additional header values become strings, and an empty dictionary becomes nil")
    func otherHeaders() {
        let configuration = URLSessionConfiguration.default
        configuration.httpAdditionalHeaders = ["X-Number": 5, "X-Text": "text"]
        #expect(configuration.httpAdditionalHeaders as? [String: String] == ["X-Number": "5", "X-Text": "text"])
        configuration.httpAdditionalHeaders = [:]
        #expect(configuration.httpAdditionalHeaders == nil)
    }
}

@Suite("httpBodyStream of a URLRequest")
struct RequestBodyStreamTests {
    private func request() throws -> URLRequest {
        URLRequest(url: try #require(URL(string: "http://example.org/")))
    }

    @Test("A request has body data or a body stream, whichever was set last")
    func exclusive() throws {
        var request = try request()
        let stream = InputStream(data: Data())
        request.httpBody = Data("x".utf8)
        request.httpBodyStream = stream
        #expect(request.httpBody == nil && request.httpBodyStream === stream)
        request.httpBody = Data("x".utf8)
        #expect(request.httpBody == Data("x".utf8) && request.httpBodyStream == nil)
        request.httpBodyStream = nil
        #expect(request.httpBody == nil && request.httpBodyStream == nil)
    }

    @Test("Copies share the stream")
    func copies() throws {
        var request = try request()
        request.httpBodyStream = InputStream(data: Data())
        var copy = request
        #expect(copy.httpBodyStream === request.httpBodyStream)
        copy.httpBodyStream = InputStream(data: Data())
        #expect(copy.httpBodyStream !== request.httpBodyStream)
    }
}
