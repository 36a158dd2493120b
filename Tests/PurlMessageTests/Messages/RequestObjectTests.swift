import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("NSURLRequest and NSMutableURLRequest")
struct RequestObjectTests {
    private let sandbox = Sandbox()

    private func mutable() throws -> NSMutableURLRequest {
        NSMutableURLRequest(url: try #require(URL(string: "http://a.example/file")))
    }

    /// A request in which no property has its default.
    private func peculiar() throws -> NSMutableURLRequest {
        let request = try mutable()
        request.url = URL(string: "http://b.example/other?x=1")
        request.mainDocumentURL = URL(string: "http://c.example/")
        request.cachePolicy = .reloadRevalidatingCacheData
        request.timeoutInterval = 7
        request.httpMethod = "PUT"
        request.allHTTPHeaderFields = ["X-One": "1"]
        request.setValue("2", forHTTPHeaderField: "X-Two")
        request.addValue("3", forHTTPHeaderField: "x-two")
        request.httpBody = Data("hello".utf8)
        request.networkServiceType = .video
        request.allowsCellularAccess = false
        request.httpShouldHandleCookies = false
        request.httpShouldUsePipelining = true
        return request
    }

    @Test("The properties that are set are those of the object and of the value")
    func values() throws {
        let request = try peculiar()
        let value = URLRequest(referencing: request)
        #expect(value.url == URL(string: "http://b.example/other?x=1") && request.url == value.url)
        #expect(value.mainDocumentURL == URL(string: "http://c.example/"))
        #expect(request.mainDocumentURL == value.mainDocumentURL)
        #expect(value.cachePolicy == .reloadRevalidatingCacheData && request.cachePolicy == value.cachePolicy)
        #expect(value.timeoutInterval == 7 && request.timeoutInterval == 7)
        #expect(value.httpMethod == "PUT" && request.httpMethod == "PUT")
        #expect(value.allHTTPHeaderFields == ["X-One": "1", "X-Two": "2,3"])
        #expect(request.allHTTPHeaderFields == value.allHTTPHeaderFields)
        #expect(request.value(forHTTPHeaderField: "x-TWO") == "2,3")
        #expect(value.httpBody == Data("hello".utf8) && request.httpBody == value.httpBody)
        #expect(value.networkServiceType == .video && request.networkServiceType == .video)
        #expect(!value.allowsCellularAccess && !request.allowsCellularAccess)
        #expect(!value.httpShouldHandleCookies && !request.httpShouldHandleCookies)
        #expect(value.httpShouldUsePipelining && request.httpShouldUsePipelining)
    }

    @Test("A body stream replaces body data, and the reverse")
    func stream() throws {
        let request = try peculiar()
        let stream = InputStream(data: Data("more".utf8))
        request.httpBodyStream = stream
        #expect(request.httpBody == nil)
        #expect(request.httpBodyStream === stream)
    }

    @Test("A value becomes an object and an equal value again")
    func bridge() throws {
        var value = URLRequest(url: try #require(URL(string: "http://a.example/")), timeoutInterval: 5)
        value.setValue("b", forHTTPHeaderField: "A")
        let object = NSURLRequest(value)
        #expect(type(of: object) == NSURLRequest.self)
        #expect(URLRequest(referencing: object) == value)
        #expect(URLRequest(referencing: object).allHTTPHeaderFields == ["A": "b"])
        #expect(object.isEqual(NSURLRequest(url: try #require(URL(string: "http://b.example/")))) == false)
    }

    @Test("copy() of an immutable request is itself, and mutableCopy() is an equal, independent one")
    func copies() throws {
        let request = try peculiar()
        let fixed = try #require(request.copy() as? NSURLRequest)
        #expect(type(of: fixed) == NSURLRequest.self)
        #expect(fixed.copy() as? NSURLRequest === fixed)
        let other = try #require(fixed.mutableCopy() as? NSMutableURLRequest)
        #expect(other == request && other.hash == request.hash && fixed == request)
        other.httpMethod = "POST"
        #expect(other != request)
        #expect(request.httpMethod == "PUT" && fixed.httpMethod == "PUT")
    }

    @Test("An unarchived request equals the archived one")
    func archive() throws {
        let request = try peculiar()
        let archived = try NSKeyedArchiver.archivedData(withRootObject: request, requiringSecureCoding: true)
        let read = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: NSMutableURLRequest.self, from: archived))
        #expect(read == request)
        #expect(read.httpShouldUsePipelining)
        request.url = nil
        let empty = try NSKeyedArchiver.archivedData(withRootObject: request, requiringSecureCoding: true)
        #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: NSMutableURLRequest.self, from: empty)?.url == nil)
    }

    @Test("URLProtocol's properties are kept in the value, and can be removed")
    func properties() throws {
        let request = try mutable()
        URLProtocol.setProperty("mark", forKey: "key", in: request)
        #expect(URLProtocol.property(forKey: "key", in: URLRequest(referencing: request)) as? String == "mark")
        URLProtocol.removeProperty(forKey: "key", in: request)
        #expect(URLProtocol.property(forKey: "key", in: URLRequest(referencing: request)) == nil)
    }

    @Test("A task loads an NSURLRequest")
    func load() async throws {
        let server = try LoopbackServer()
        let url = server.route("/file", .text("hello"))
        let request = NSMutableURLRequest(url: url)
        request.addValue("1", forHTTPHeaderField: "X-One")
        let session = sandbox.session()
        let (data, _) = try await session.data(for: URLRequest(referencing: request))
        #expect(data == Data("hello".utf8))
        #expect(server.requests.first?.fields["X-One"] == "1")
    }
}
