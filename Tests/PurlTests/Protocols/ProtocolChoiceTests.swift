import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@Suite("Which protocol loads a request", .serialized, .timeLimit(.minutes(5)))
struct ProtocolChoiceTests {
    /// Takes everything, and answers with its own name.
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
    /// For the shared session, which other tests use meanwhile.
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
    /// Looks at the task.
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

    @Test("is the first of the configuration's that wants it")
    func order() async throws {
        let session = try Sandbox().session { $0.protocolClasses = [Picky.self, Second.self, First.self] }
        #expect(try await load(in: session) == "Second")
        #expect(try await load("/picked", in: session) == "Picky")
        session.invalidateAndCancel()
    }

    @Test("is none when nobody wants it")
    func nobody() async throws {
        let session = try Sandbox().session { $0.protocolClasses = [Picky.self] }
        #expect(try await load(in: session) == "server")
        #expect(try await load("/picked", in: session) == "Picky")
        session.invalidateAndCancel()
    }

    @Test("may be put before those there are")
    func inserting() {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.protocolClasses?.isEmpty == true)
        configuration.protocolClasses?.insert(Second.self, at: 0)
        configuration.protocolClasses?.insert(First.self, at: 0)
        configuration.protocolClasses?.append(NSString.self)
        #expect(configuration.protocolClasses?.map { "\($0)" } == ["First", "Second"])
    }

    @Test("may be chosen by the task, and makes the request canonical")
    func byTask() async throws {
        let witness = Witness()
        let session = try Sandbox().session(witness) { $0.protocolClasses = [ByTask.self] }
        let task = session.dataTask(with: server.url("/file"))
        task.taskDescription = "mine"
        task.resume()
        await witness.completion()
        #expect(witness.data(of: task) == Data("true".utf8))
        #expect(try await load(in: session) == "server")
        session.invalidateAndCancel()
    }

    @Test("is for the shared session the one that was registered last")
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
        let session = try Sandbox().session()
        #expect(try await load("/registered", in: session) == "server")
        session.invalidateAndCancel()
    }

    @Test("fails where a class does not say how it loads")
    func base() async throws {
        final class Empty: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
        }
        let outcome = try await LoadForm.dataDelegate.load(server.url("/file")) { $0.protocolClasses = [Empty.self] }
        #expect(outcome.error?.code == .resourceUnavailable)
    }

    @Test("sees the session's additional fields")
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

@Suite("What protocols keep in requests", .timeLimit(.minutes(5)))
struct ProtocolPropertyTests {
    /// Loads with a session that would ask it again, were it not for the mark it leaves.
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

    @Test("keeps one from meeting its own request again, redirects included")
    func handled() async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(to: "/end"))
        server.route("/end", .text("end"))
        let outcome = try await LoadForm.dataAsync.load(server.url("/start")) { $0.protocolClasses = [Passing.self] }
        outcome.expectSuccess(Data("end".utf8))
        #expect(Passing.seen.withLock { $0 } == 1)
        #expect(server.requests.map(\.path) == ["/start", "/end"])
    }

    @Test("is copied with the request, and is no part of what it is")
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
