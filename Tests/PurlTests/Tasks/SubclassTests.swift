import Foundation
import Purl
import Synchronization
import Testing

@testable import SessionFixtures

/// What programs subclass to test their own code without a server.
@Suite("Subclasses of sessions and tasks", .timeLimit(.minutes(5)))
struct SubclassTests {
    /// A session that makes a task of its own for each request.
    private final class StubSession: URLSession, @unchecked Sendable {
        override init(configuration: URLSessionConfiguration = .ephemeral) {
            super.init(configuration: configuration)
        }

        override func dataTask(
            with request: URLRequest,
            completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
        ) -> URLSessionDataTask {
            StubTask(request, completionHandler)
        }
    }

    /// A task that is complete as soon as it is resumed.
    private final class StubTask: URLSessionDataTask, @unchecked Sendable {
        private let request: URLRequest
        private let handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void
        private let isComplete = Mutex(false)

        init(
            _ request: URLRequest, _ handler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
        ) {
            self.request = request
            self.handler = handler
            super.init()
        }

        override var taskIdentifier: Int { 42 }
        override var originalRequest: URLRequest? { request }
        override var currentRequest: URLRequest? { request }
        override var state: URLSessionTask.State { isComplete.withLock { $0 } ? .completed : .suspended }

        override func resume() {
            isComplete.withLock { $0 = true }
            handler(Data("stub".utf8), nil, nil)
        }
    }

    /// A challenge for a space and with a count of its own.
    private final class StubChallenge: URLAuthenticationChallenge, @unchecked Sendable {
        private final class Sender: NSObject, URLAuthenticationChallengeSender {
            func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
            func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
            func cancel(_ challenge: URLAuthenticationChallenge) {}
            func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
            func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
        }

        private static let space = URLProtectionSpace(
            host: "stub.test", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

        init() {
            super.init(
                protectionSpace: Self.space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                error: nil, sender: Sender())
        }

        required init?(coder: NSCoder) { super.init(coder: coder) }

        override var previousFailureCount: Int { 3 }
        override var proposedCredential: URLCredential? { StubCredential() }
    }

    /// A credential that claims to be kept.
    private final class StubCredential: URLCredential, @unchecked Sendable {
        init() { super.init(user: "u", password: "p", persistence: .none) }
        required init?(coder: NSCoder) { super.init(coder: coder) }

        override var persistence: Persistence { .permanent }
    }

    @Test("A task of a program's own replaces what is read of it and what resuming does")
    func task() throws {
        let url = try #require(URL(string: "http://stub.test/file"))
        let session: URLSession = StubSession()
        let body = Mutex(Data())
        let task = session.dataTask(with: URLRequest(url: url)) { data, _, _ in body.withLock { $0 = data ?? Data() } }
        #expect(task.taskIdentifier == 42)
        #expect(task.originalRequest?.url == url)
        #expect(task.state == .suspended)
        task.resume()
        #expect(task.state == .completed)
        #expect(body.withLock { $0 } == Data("stub".utf8))
    }

    @Test("A challenge and a credential of a program's own replace what is read of them")
    func challenge() {
        let challenge: URLAuthenticationChallenge = StubChallenge()
        #expect(challenge.protectionSpace.host == "stub.test")
        #expect(challenge.previousFailureCount == 3)
        #expect(challenge.proposedCredential?.persistence == .permanent)
    }
}
