import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("Completion handlers of tasks", .timeLimit(.minutes(5)))
struct CompletionHandlerTests {
    private let sandbox = Sandbox()
    private let calls = Calls()

    /// The calls of completion handlers.
    private final class Calls: Sendable {
        struct Call: Sendable {
            var data: Data?
            var status: Int?
            var error: URLError?
            var file: URL?
            var fileContents: Data?
        }

        private let state = Mutex<[Call]>([])
        let log = CallLog()

        var all: [Call] { state.withLock { $0 } }

        func append(_ call: Call) {
            log.visit()
            state.withLock { $0.append(call) }
        }
    }

    private let content = GeneratedContent(size: 2_500_000, seed: 21)

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(content))
        server.route("/empty", .bytes(Data()))
        server.route("/moved", .redirect(302, to: "/file"))
        server.route("/cut", .generated(content).cut(afterBytes: 1_000))
        server.route("/stalled", .generated(content).stalled(afterBytes: 1_000))
        return server
    }

    private func data(
        _ session: URLSession, _ url: URL, _ calls: Calls, then: @Sendable (URLSessionTask) -> Void = { _ in }
    ) async -> URLSessionTask {
        await withCheckedContinuation { continuation in
            let made = Mutex<URLSessionTask?>(nil)
            let task = session.dataTask(with: url) { data, response, error in
                calls.append(
                    .init(
                        data: data, status: (response as? HTTPURLResponse)?.statusCode, error: error as? URLError))
                if let task = made.withLock({ $0 }) { continuation.resume(returning: task) }
            }
            made.withLock { $0 = task }
            task.resume()
            then(task)
        }
    }

    private func download(_ session: URLSession, _ url: URL, _ calls: Calls) async {
        await withCheckedContinuation { continuation in
            session.downloadTask(with: url) { file, response, error in
                calls.append(
                    .init(
                        status: (response as? HTTPURLResponse)?.statusCode, error: error as? URLError, file: file,
                        fileContents: file.flatMap { try? Data(contentsOf: $0) }))
                continuation.resume()
            }.resume()
        }
    }

    @Test("A handler receives data, response and no error on the delegate queue", arguments: CallQueue.allCases)
    func success(_ queue: CallQueue) async throws {
        let server = try makeServer()
        let session = sandbox.session(queue: queue.make())
        let task = await data(session, server.url("/moved"), calls)
        await SessionTasks.waitUntilCompleted(of: session)
        #expect(calls.all.count == 1)
        #expect(calls.all.first?.data == content.data)
        #expect(calls.all.first?.status == 200)
        #expect(calls.all.first?.error == nil)
        #expect(calls.log.allRan(on: session.delegateQueue))
        #expect(task.state == .completed)
        #expect(task.countOfBytesReceived == 2_500_000)
    }

    @Test("An empty body is empty data, not nil")
    func emptyBody() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        _ = await data(session, server.url("/empty"), calls)
        _ = await data(session, server.url("/nothing"), calls)
        #expect(calls.all.map(\.data) == [Data(), Data()])
        #expect(calls.all.map(\.status) == [200, 404])
    }

    @Test("A failure in the body has the response and the error, and no data")
    func failure() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        _ = await data(session, server.url("/cut"), calls)
        await download(session, server.url("/cut"), calls)
        for call in calls.all {
            #expect(call.data == nil && call.file == nil)
            #expect(call.status == 200)
            #expect(call.error?.code == .networkConnectionLost)
            #expect(call.error?.failingURL == server.url("/cut"))
            #expect(call.error?.failureSentence.isEmpty == false)
        }
        #expect(calls.all.count == 2)
        #expect(sandbox.partialNames == [])
    }

    @Test("A refused connection has an error and no response")
    func refusedConnection() async throws {
        // Port 1 is closed. The port of a stopped server may already belong to another one.
        let url = try #require(URL(string: "http://127.0.0.1:1/file"))
        let session = sandbox.session()
        _ = await data(session, url, calls)
        #expect(calls.all.count == 1)
        #expect(calls.all.first?.data == nil && calls.all.first?.status == nil)
        #expect(calls.all.first?.error?.code == .cannotConnectToHost)
        #expect(calls.all.first?.error?.failingURL == url)
    }

    @Test("Cancelling calls the handler once with cancelled")
    func cancelled() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        let early = await data(session, server.url("/stalled"), calls) { task in
            task.cancel()
            task.cancel()
        }
        early.cancel()
        async let late = data(session, server.url("/stalled"), calls) { task in
            Task {
                await server.wait { $0.requests.last?.bytesSent == 1_000 }
                task.cancel()
                task.cancel()
            }
        }
        await late.cancel()
        await SessionTasks.waitUntilCompleted(of: session)
        #expect(calls.all.map { $0.error?.code } == [.cancelled, .cancelled])
        #expect(calls.all.map(\.data) == [nil, nil])
    }

    @Test("A download's file exists inside the handler and is removed afterwards")
    func file() async throws {
        let server = try makeServer()
        let session = sandbox.session()
        await download(session, server.url("/moved"), calls)
        await SessionTasks.waitUntilCompleted(of: session)
        let call = try #require(calls.all.first)
        let file = try #require(call.file)
        #expect(calls.all.count == 1)
        #expect(call.fileContents == content.data)
        #expect(call.error == nil && call.status == 200)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(sandbox.partialNames == [])
    }

    @Test("A file that the handler moved stays")
    func movedFile() async throws {
        let server = try makeServer()
        let kept = sandbox.file("kept")
        let session = sandbox.session()
        await withCheckedContinuation { continuation in
            session.downloadTask(with: server.url("/file")) { file, _, _ in
                if let file { try? FileManager.default.moveItem(at: file, to: kept) }
                continuation.resume()
            }.resume()
        }
        await SessionTasks.waitUntilCompleted(of: session)
        #expect(try content.matches(fileAt: kept))
        #expect(sandbox.partialNames == [])
    }

    @Test("For a task with a handler the session's delegate receives only redirects")
    func sessionDelegate() async throws {
        let server = try makeServer()
        let witness = Witness()
        let session = sandbox.session(witness)
        _ = await data(session, server.url("/moved"), calls)
        await download(session, server.url("/file"), calls)
        _ = await data(session, server.url("/cut"), calls)
        await SessionTasks.waitUntilCompleted(of: session)
        #expect(calls.all.count == 3)
        #expect(witness.events == [.redirect(302, to: "/file")])
    }
}
