import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The choice of the URLProtocol for a request", .serialized, .timeLimit(.minutes(5)))
struct ProtocolChoiceTests {
    private let sandbox = Sandbox()

    /// A protocol that accepts every request, and answers with its own name.
    class Named: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }

        override func startLoading() {
            let url = request.url ?? URL(fileURLWithPath: "/")
            client?.urlProtocol(
                self,
                didReceive: URLResponse(
                    url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil),
                cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: Data("\(type(of: self))".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    final class First: Named {}
    final class Second: Named {}
    final class Picky: Named {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/picked" }
    }
    /// A protocol for the shared session, which other tests use at the same time.
    class Careful: Named {
        override class func canInit(with request: URLRequest) -> Bool {
            request.url?.path.hasPrefix("/registered") == true
        }
    }
    final class Third: Careful {}
    final class Fourth: Careful {}
    final class Choosy: Named {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/registered/picked" }
    }
    /// A protocol that accepts by the task.
    final class ByTask: Named {
        override class func canInit(with task: URLSessionTask) -> Bool { task.taskDescription == "mine" }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest {
            var canonical = request
            canonical.setValue("yes", forHTTPHeaderField: "Canonical")
            return canonical
        }
        override func startLoading() {
            let isComplete = task?.taskDescription == "mine" && request.value(forHTTPHeaderField: "Canonical") == "yes"
            client?.urlProtocol(self, didLoad: Data("\(isComplete)".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
        server.fallback(.text("server"))
    }

    private func load(_ path: String = "/file", in session: URLSession) async throws -> String {
        String(decoding: try await session.data(from: server.url(path)).0, as: UTF8.self)
    }

    @Test("The first of the configuration's classes that accepts the request loads it")
    func order() async throws {
        let session = sandbox.session { $0.protocolClasses = [Picky.self, Second.self, First.self] }
        #expect(try await load(in: session) == "Second")
        #expect(try await load("/picked", in: session) == "Picky")
    }

    @Test("A request that no class accepts is loaded from the network")
    func noneAccepts() async throws {
        let session = sandbox.session { $0.protocolClasses = [Picky.self] }
        #expect(try await load(in: session) == "server")
        #expect(try await load("/picked", in: session) == "Picky")
    }

    @Test("A class can be inserted before the default ones")
    func inserting() {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.protocolClasses?.isEmpty == true)
        configuration.protocolClasses?.insert(Second.self, at: 0)
        configuration.protocolClasses?.insert(First.self, at: 0)
        configuration.protocolClasses?.append(NSString.self)
        #expect(configuration.protocolClasses?.map { "\($0)" } == ["First", "Second"])
    }

    @Test("A class can accept by the task, and its canonical request is loaded")
    func byTask() async throws {
        let witness = Witness()
        let session = sandbox.session(witness) { $0.protocolClasses = [ByTask.self] }
        let task = session.dataTask(with: server.url("/file"))
        task.taskDescription = "mine"
        task.resume()
        await witness.completion()
        #expect(witness.data(of: task) == Data("true".utf8))
        #expect(try await load(in: session) == "server")
    }

    @Test("For the shared session the class that was registered last loads the request")
    func registering() async throws {
        #expect(URLProtocol.registerClass(Third.self))
        #expect(URLProtocol.registerClass(Choosy.self))
        #expect(!URLProtocol.registerClass(NSString.self))
        defer { for type in [Third.self, Fourth.self, Choosy.self] { URLProtocol.unregisterClass(type) } }
        #expect(try await load("/registered", in: .shared) == "Third")
        #expect(try await load("/registered/picked", in: .shared) == "Choosy")
        #expect(try await load(in: .shared) == "server")
        URLProtocol.registerClass(Fourth.self)
        #expect(try await load("/registered/picked", in: .shared) == "Fourth")
        URLProtocol.unregisterClass(Fourth.self)
        #expect(try await load("/registered/picked", in: .shared) == "Choosy")
        let session = sandbox.session()
        #expect(try await load("/registered", in: session) == "server")
    }

    @Test("A class that does not implement startLoading fails with resourceUnavailable")
    func base() async throws {
        final class Empty: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
        }
        let outcome = try await LoadForm.dataDelegate.load(server.url("/file")) { $0.protocolClasses = [Empty.self] }
        #expect(outcome.error?.code == .resourceUnavailable)
    }

    @Test("canInit receives the session's additional fields")
    func fields() async throws {
        let url = try Stub.url { stub in
            stub.send(stub.request.value(forHTTPHeaderField: "X-Mine") ?? "none")
            stub.finish()
        }
        let outcome = try await LoadForm.dataAsync.load(url) {
            $0.stub()
            $0.httpAdditionalHeaders = ["X-Mine": "yes"]
        }
        outcome.expectSuccess(Data("yes".utf8))
    }
}

@Suite("URLProtocol's properties of a request", .timeLimit(.minutes(5)))
struct ProtocolPropertyTests {
    /// A protocol that loads with a session of its own, and marks its requests so as not to accept them again.
    final class Passing: URLProtocol {
        static let seen = Mutex(0)

        override class func canInit(with request: URLRequest) -> Bool {
            property(forKey: "handled", in: request) == nil
        }

        override func startLoading() {
            Self.seen.withLock { $0 += 1 }
            var request = request
            Self.setProperty(true, forKey: "handled", in: &request)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.protocolClasses = [Passing.self]
            let call = Call(loader: self)
            let session = URLSession(configuration: configuration)
            session.dataTask(with: request) { data, response, error in
                guard let data, let response else {
                    call.loader.client?.urlProtocol(call.loader, didFailWithError: error ?? URLError(.unknown))
                    return
                }
                call.loader.client?.urlProtocol(call.loader, didReceive: response, cacheStoragePolicy: .notAllowed)
                call.loader.client?.urlProtocol(call.loader, didLoad: data)
                call.loader.client?.urlProtocolDidFinishLoading(call.loader)
            }.resume()
            session.finishTasksAndInvalidate()
        }

        private struct Call: @unchecked Sendable { let loader: Passing }
    }

    @Test("A property keeps a protocol from loading its own request, after redirects, too")
    func handled() async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: "/end"))
        server.route("/end", .text("end"))
        let outcome = try await LoadForm.dataAsync.load(server.url("/start")) { $0.protocolClasses = [Passing.self] }
        outcome.expectSuccess(Data("end".utf8))
        #expect(Passing.seen.withLock { $0 } == 1)
        #expect(server.requests.map(\.path) == ["/start", "/end"])
    }

    @Test("Properties are copied with the request, and do not affect equality")
    func copies() throws {
        var request = URLRequest(url: try #require(URL(string: "http://host/")))
        let plain = request
        URLProtocol.setProperty("value", forKey: "key", in: &request)
        let copy = request
        #expect(URLProtocol.property(forKey: "key", in: copy) as? String == "value")
        #expect(URLProtocol.property(forKey: "key", in: plain) == nil)
        #expect(request == plain)
        #expect(request.allHTTPHeaderFields == nil)
        URLProtocol.removeProperty(forKey: "key", in: &request)
        #expect(URLProtocol.property(forKey: "key", in: request) == nil)
        #expect(URLProtocol.property(forKey: "key", in: copy) != nil)
    }
}
