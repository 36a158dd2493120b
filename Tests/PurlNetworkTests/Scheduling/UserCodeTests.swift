import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

/// User code that waits for a request would stop every transfer of the process if it ran on the network thread.
@Suite("User code and the network thread", .timeLimit(.minutes(1)))
struct UserCodeTests {
    private let sandbox = Sandbox()

    /// Code of a user's that waits for a request of another session.
    private final class Waiting: Sendable {
        private let url: URL
        private let results = EventLog<Bool>()

        init(_ url: URL) { self.url = url }

        /// Whether each wait has ended with the response; empty when the code has not run.
        var waits: [Bool] { results.events }

        /// Returns when the code has run.
        func hasWaited() async { await results.wait { !$0.isEmpty } }

        func waitForResponse() {
            let session = URLSession(configuration: .ephemeral)
            let response = DispatchSemaphore(value: 0)
            session.dataTask(with: url) { _, _, _ in response.signal() }.resume()
            // Where the network thread waits here, the test must end all the same.
            let isOver = response.wait(timeout: .now() + 10) == .success
            results.append(isOver)
            session.finishTasksAndInvalidate()
        }
    }

    private func server() throws -> (LoopbackServer, Waiting) {
        let server = try LoopbackServer()
        server.route("/private", ProtectedResource.reply())
        server.route("/cookie", .text("hello").field("Set-Cookie", "a=1"))
        server.route("/moved", .redirect(to: "/cookie").field("Set-Cookie", "b=1; Path=/"))
        return (server, Waiting(server.route("/other", .text("other"))))
    }

    @Test("An observer of a credential storage may wait for a request")
    func credentialObserver() async throws {
        let (server, waiting) = try server()
        let session = sandbox.session(ProtectedResource.witness())
        let observer = NotificationCenter.default.addObserver(
            forName: .NSURLCredentialStorageChanged, object: session.configuration.urlCredentialStorage, queue: nil
        ) { _ in waiting.waitForResponse() }
        defer { NotificationCenter.default.removeObserver(observer) }
        let (data, _) = try await session.data(from: server.url("/private"))
        #expect(data == ProtectedResource.inside)
        await waiting.hasWaited()
        #expect(waiting.waits == [true])
    }

    @Test("An observer of a cookie storage may wait for a request")
    func cookieObserver() async throws {
        let (server, waiting) = try server()
        let session = sandbox.session()
        let observer = NotificationCenter.default.addObserver(
            forName: .NSHTTPCookieManagerCookiesChanged, object: session.configuration.httpCookieStorage, queue: nil
        ) { _ in waiting.waitForResponse() }
        defer { NotificationCenter.default.removeObserver(observer) }
        _ = try await session.data(from: server.url("/cookie"))
        await waiting.hasWaited()
        #expect(waiting.waits == [true])
    }

    /// A cookie storage that waits for a request whenever it is asked.
    private final class SlowCookies: HTTPCookieStorage, @unchecked Sendable {
        // Guarded by being immutable.
        let waiting: Waiting
        let stored = Mutex<[String]>([])

        init(_ waiting: Waiting) {
            self.waiting = waiting
            super.init()
        }

        override func cookies(for url: URL) -> [HTTPCookie]? {
            waiting.waitForResponse()
            return HTTPCookie.made("mine").map { [$0] }
        }

        override func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
            waiting.waitForResponse()
            stored.withLock { $0 += cookies.map(\.name) }
        }
    }

    @Test(
        "A cookie storage of the user's own may wait for a request, and has the cookies before the redirect is followed"
    )
    func cookieStorage() async throws {
        let (server, waiting) = try server()
        let cookies = SlowCookies(waiting)
        let session = sandbox.session { $0.httpCookieStorage = cookies }
        let (data, _) = try await session.data(from: server.url("/moved"))
        #expect(data == Data("hello".utf8))
        #expect(waiting.waits == [true, true, true, true])
        #expect(cookies.stored.withLock { $0 } == ["b", "a"])
        let requests = server.requests.filter { $0.path != "/other" }
        #expect(requests.map(\.path) == ["/moved", "/cookie"])
        #expect(requests.map { $0.fields["Cookie"] } == ["mine=v", "mine=v"])
    }

    /// A credential storage that waits for a request whenever it is asked.
    private final class SlowCredentials: URLCredentialStorage, @unchecked Sendable {
        // Guarded by being immutable.
        let waiting: Waiting
        let isChanged = Signal()

        init(_ waiting: Waiting) {
            self.waiting = waiting
            super.init()
        }

        override func credentials(for space: URLProtectionSpace) -> [String: URLCredential]? {
            waiting.waitForResponse()
            return super.credentials(for: space)
        }

        override func defaultCredential(for space: URLProtectionSpace) -> URLCredential? {
            waiting.waitForResponse()
            return super.defaultCredential(for: space)
        }

        override func setDefaultCredential(_ credential: URLCredential, for space: URLProtectionSpace) {
            waiting.waitForResponse()
            super.setDefaultCredential(credential, for: space)
            isChanged.set()
        }
    }

    @Test("A credential storage of the user's own may wait for a request, and its credential is sent")
    func credentialStorage() async throws {
        let (server, waiting) = try server()
        let credentials = SlowCredentials(waiting)
        credentials.set(ProtectedResource.credential(), for: ProtectedResource.space(of: server))
        let session = sandbox.session { $0.urlCredentialStorage = credentials }
        for _ in 0..<2 {
            let (data, _) = try await session.data(from: server.url("/private"))
            #expect(data == ProtectedResource.inside)
        }
        #expect(waiting.waits.count > 0)
        #expect(waiting.waits.allSatisfy { $0 })
    }

    @Test("A credential storage of the user's own may wait for a request when it receives the delegate's credential")
    func delegatesCredential() async throws {
        let (server, waiting) = try server()
        let credentials = SlowCredentials(waiting)
        let session = sandbox.session(ProtectedResource.witness()) { $0.urlCredentialStorage = credentials }
        let (data, _) = try await session.data(from: server.url("/private"))
        #expect(data == ProtectedResource.inside)
        await credentials.isChanged.wait()
        #expect(!credentials.allCredentials.isEmpty)
        #expect(waiting.waits.allSatisfy { $0 })
    }

    @Test("A task that is cancelled while a cookie storage is asked sends nothing")
    func cancelledMeanwhile() async throws {
        let (server, waiting) = try server()
        let gate = ServerGate()
        server.route("/other", .text("other").delayed(until: gate))
        let witness = Witness()
        let session = sandbox.session(witness) { $0.httpCookieStorage = SlowCookies(waiting) }
        let task = session.dataTask(with: server.url("/cookie")).resumed()
        await gate.reached()
        task.cancel()
        await witness.completion()
        gate.open()
        await waiting.hasWaited()
        #expect(witness.events == [.completed(.cancelled)])
        #expect(server.requests.map(\.path) == ["/other"])
    }
}
