import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The async forms of delegate methods", .timeLimit(.minutes(1)))
struct AsyncDelegateTests {
    private let sandbox = Sandbox()

    /// A delegate that answers every question with the `async` form.
    private final class Host: NSObject, URLSessionDataDelegate, Sendable {
        let log = EventLog<String>()
        let disposition: URLSession.ResponseDisposition
        let follows: Bool

        init(disposition: URLSession.ResponseDisposition = .allow, follows: Bool = true) {
            self.disposition = disposition
            self.follows = follows
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
        ) async -> URLSession.ResponseDisposition {
            log.append("response")
            await Task.yield()
            return disposition
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            log.append("challenge")
            await Task.yield()
            return (.useCredential, ProtectedResource.credential())
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? {
            log.append("redirect")
            await Task.yield()
            return follows ? request : nil
        }

        func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
            log.append("stream")
            await Task.yield()
            return InputStream(data: Data("streamed".utf8))
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse
        ) async -> CachedURLResponse? {
            log.append("caching")
            await Task.yield()
            return nil
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest
        ) async -> (URLSession.DelayedRequestDisposition, URLRequest?) {
            log.append("delayed")
            await Task.yield()
            return (.continueLoading, nil)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            log.append("data \(data.count)")
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            log.append("completed \((error as? URLError)?.code.rawValue ?? 0)")
        }

        func completion() async { await log.wait { $0.last?.hasPrefix("completed") == true } }
    }

    private func server() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .text("hello").field("Cache-Control", "max-age=60"))
        server.route("/moved", .redirect(302, to: "/private"))
        server.route("/private", ProtectedResource.reply())
        return server
    }

    @Test("Redirect, challenge and response are asked about")
    func questions() async throws {
        let server = try server()
        let host = Host()
        let session = sandbox.session(host) { $0.urlCache = nil }
        session.dataTask(with: server.url("/moved")).resume()
        await host.completion()
        #expect(host.log.events == ["redirect", "challenge", "response", "data 6", "completed 0"])
    }

    @Test("The answers count")
    func answers() async throws {
        let server = try server()
        let host = Host(disposition: .cancel, follows: false)
        let task = sandbox.session(host).dataTask(with: server.url("/moved")).resumed()
        await host.completion()
        #expect(host.log.events == ["redirect", "response", "completed -999"])
        #expect((task.response as? HTTPURLResponse)?.statusCode == 302)
    }

    @Test("A body's stream is asked for")
    func stream() async throws {
        let server = try server()
        let host = Host()
        var request = URLRequest(url: server.url("/file"))
        request.httpMethod = "PUT"
        sandbox.session(host).uploadTask(withStreamedRequest: request).resume()
        await host.completion()
        #expect(host.log.events.filter { $0 == "stream" } == ["stream"])
        #expect(server.requests.first?.body == Data("streamed".utf8))
    }

    @Test("A response is stored only if the delegate wants it")
    func caching() async throws {
        let server = try server()
        let host = Host()
        let session = sandbox.session(host) {
            $0.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        }
        for _ in 0..<2 {
            let count = host.log.events.count
            session.dataTask(with: server.url("/file")).resume()
            await host.log.wait { $0.dropFirst(count).contains { $0.hasPrefix("completed") } && $0.last != "caching" }
        }
        await host.log.wait { $0.count { $0 == "caching" } == 2 }
        #expect(server.requests.count == 2)
    }

    @Test("A delayed request is asked about")
    func delayed() async throws {
        let server = try server()
        let host = Host()
        let session = sandbox.session(host)
        let task = session.dataTask(with: server.url("/file"))
        task.earliestBeginDate = .distantPast
        task.resume()
        await host.completion()
        #expect(host.log.events.first == "delayed")
    }

    @Test("A task's own delegate with an async form is asked before the session's")
    func own() async throws {
        let server = try server()
        let (sessions, own) = (Witness(), Host())
        let session = sandbox.session(sessions) { $0.urlCache = nil }
        let (data, _) = try await session.data(from: server.url("/moved"), delegate: own)
        #expect(data == ProtectedResource.inside)
        #expect(sessions.events == [])
        #expect(own.log.events == ["redirect", "challenge", "response", "data 6"])
    }

    /// An actor's class: its methods run on the main actor.
    @MainActor private final class ViewModel: NSObject, URLSessionDataDelegate {
        var responses = 0

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
        ) async -> URLSession.ResponseDisposition {
            responses += 1
            return .allow
        }
    }

    @Test("A delegate of the main actor answers there")
    @MainActor func mainActor() async throws {
        let server = try server()
        let model = ViewModel()
        let (data, _) = try await sandbox.session().data(from: server.url("/file"), delegate: model)
        #expect(data == Data("hello".utf8))
        #expect(model.responses == 1)
    }

    @Test("A class with neither form is answered for, each time")
    func neither() async throws {
        final class Silent: NSObject, URLSessionDataDelegate, Sendable {
            let log = EventLog<String>()

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                log.append("completed \((error as? URLError)?.code.rawValue ?? 0)")
            }
        }
        let server = try server()
        let silent = Silent()
        let session = sandbox.session(silent)
        for count in 1...3 {
            session.dataTask(with: server.url("/moved")).resume()
            await silent.log.wait { $0.count == count }
        }
        #expect(silent.log.events == ["completed 0", "completed 0", "completed 0"])
    }
}
