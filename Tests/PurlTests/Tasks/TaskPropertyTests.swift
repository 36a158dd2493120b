import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The properties of a task", .timeLimit(.minutes(5)))
struct TaskPropertyTests {
    private let sandbox = Sandbox()
    private let witness = Witness()

    private func makeServer() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.route("/file", .generated(size: 100_000, seed: 1))
        server.route("/moved", .redirect(307, to: "/file"))
        server.route("/upload", .text("thanks"))
        server.route("/chunked", .generated(size: 100_000).chunked())
        server.route("/cut", .generated(size: 100_000).cut(afterBytes: 70_000))
        return server
    }

    private func run(_ task: URLSessionTask, _ witness: Witness) async {
        task.resume()
        await witness.completion()
    }

    @Test("A new task has its request and no response")
    func new() throws {
        let server = try makeServer()
        let session = sandbox.session()
        for task in [session.dataTask(with: server.url("/file")), session.downloadTask(with: server.url("/file"))] {
            #expect(task.originalRequest?.url == server.url("/file"))
            #expect(task.currentRequest == task.originalRequest)
            #expect(task.response == nil)
            #expect(task.error == nil)
            #expect(task.countOfBytesReceived == 0)
            #expect(task.countOfBytesSent == 0)
            #expect(task.countOfBytesExpectedToReceive == NSURLSessionTransferSizeUnknown)
            #expect(task.taskDescription == nil)
            #expect(task.priority == URLSessionTask.defaultPriority)
            #expect(task.delegate == nil)
        }
    }

    @Test("Redirects change currentRequest and not originalRequest")
    func redirects() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        var request = URLRequest(url: server.url("/moved"))
        request.setValue("yes", forHTTPHeaderField: "X-Mine")
        let task = session.dataTask(with: request)
        await run(task, witness)
        #expect(task.originalRequest == request)
        #expect(task.currentRequest?.url == server.url("/file"))
        #expect(task.currentRequest?.value(forHTTPHeaderField: "X-Mine") == "yes")
        #expect(task.response?.url == server.url("/file"))
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(server.requests.map { $0.fields["X-Mine"] } == ["yes", "yes"])
    }

    @Test("currentRequest can be sent again, with another login, other cookies and to another server")
    func sentAgain() async throws {
        let server = try LoopbackServer()
        let other = try LoopbackServer()
        let url = server.route("/place", ProtectedResource.reply())
        other.route("/place", .text("other"))
        let witness = ProtectedResource.witness()
        let session = sandbox.session(witness)
        let storage = try #require(session.configuration.httpCookieStorage)
        func store(_ value: String) throws {
            storage.setCookie(
                try #require(
                    HTTPCookie(properties: [.name: "a", .value: value, .domain: "127.0.0.1", .path: "/"])))
        }
        try store("old")
        var request = URLRequest(url: url)
        request.setValue("yes", forHTTPHeaderField: "X-Mine")
        let task = session.dataTask(with: request)
        await run(task, witness)
        var again = try #require(task.currentRequest)
        #expect(again.value(forHTTPHeaderField: "X-Mine") == "yes")
        #expect(again.value(forHTTPHeaderField: "User-Agent") != nil)
        try store("new")
        again.url = other.url("/place")
        _ = try await session.data(for: again)
        let sent = try #require(other.requests.first)
        #expect(sent.fields["Host"] == "127.0.0.1:\(other.port)")
        #expect(sent.fields["Cookie"] == "a=new")
        #expect(sent.fields["Authorization"] == nil)
    }

    @Test("The cached response of a task is found by the task, and by what its cache stores for it")
    func cached() async throws {
        let server = try makeServer()
        let url = server.route("/fresh", Reply.text("fresh").field("Cache-Control", "max-age=600"))
        let cache = StoringCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let session = sandbox.session(witness) { $0.urlCache = cache }
        let task = session.dataTask(with: url)
        await run(task, witness)
        #expect(try await session.data(from: url).0 == Data("fresh".utf8))
        #expect(server.requests.count == 1)
        let found = await withCheckedContinuation { continuation in
            cache.getCachedResponse(for: task) { continuation.resume(returning: $0?.data) }
        }
        #expect(found == Data("fresh".utf8))
    }

    /// Overrides what programs override to change what is stored.
    private final class StoringCache: URLCache, @unchecked Sendable {
        override func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
            super.storeCachedResponse(cachedResponse, for: dataTask)
        }
    }

    @Test("A HEAD request has no body", arguments: [true, false])
    func head(isStream: Bool) async throws {
        let server = try makeServer()
        let url = server.route("/head", .text("head"))
        var request = URLRequest(url: url)
        request.httpMethod = "HEAD"
        if isStream {
            request.httpBodyStream = InputStream(data: Data("body".utf8))
        } else {
            request.httpBody = Data("body".utf8)
        }
        let session = sandbox.session(witness)
        _ = try await session.data(for: request)
        #expect(server.requests.map(\.bodyBytesReceived) == [0])
        #expect(server.requests.first?.fields["Content-Length"] == nil)
        #expect(server.requests.first?.fields["Transfer-Encoding"] == nil)
    }

    @Test(
        "The counts of received bytes are those of the body",
        arguments: [("/file", 100_000), ("/chunked", NSURLSessionTransferSizeUnknown)] as [(String, Int64)])
    func received(_ path: String, _ expected: Int64) async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let tasks = [session.dataTask(with: server.url(path)), session.downloadTask(with: server.url(path))]
        for task in tasks { task.resume() }
        await witness.completion(of: 2)
        for task in tasks {
            #expect(task.countOfBytesReceived == 100_000)
            #expect(task.countOfBytesExpectedToReceive == expected)
            #expect(task.countOfBytesSent == 0)
            #expect(task.countOfBytesExpectedToSend == 0)
        }
    }

    @Test("The counts of sent bytes are those of the request's body")
    func sent() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        var request = URLRequest(url: server.url("/upload"))
        request.httpMethod = "POST"
        request.httpBody = Data(count: 3_000_000)
        let task = session.dataTask(with: request)
        await run(task, witness)
        #expect(task.countOfBytesSent == 3_000_000)
        #expect(task.countOfBytesExpectedToSend == 3_000_000)
        #expect(task.countOfBytesReceived == 6)
        #expect(task.countOfBytesExpectedToReceive == 6)
        #expect(server.requests.first?.bodyBytesReceived == 3_000_000)
    }

    @Test("A failed task has its response, counts and error")
    func failed() async throws {
        let server = try makeServer()
        let session = sandbox.session(witness)
        let task = session.dataTask(with: server.url("/cut"))
        await run(task, witness)
        let error = try #require(task.error as? URLError)
        #expect(error.code == .networkConnectionLost)
        #expect(error.failingURL == server.url("/cut"))
        #expect(!error.failureSentence.isEmpty)
        #expect(error.code == witness.error(of: task)?.code)
        #expect(task.countOfBytesReceived == 70_000)
        #expect(task.countOfBytesExpectedToReceive == 100_000)
        #expect(task.response?.expectedContentLength == 100_000)
    }

    @Test("A download has the request, response and counts of the data task it was")
    func becameDownload() async throws {
        let server = try makeServer()
        let witness = Witness(disposition: .becomeDownload)
        let session = sandbox.session(witness)
        let gate = ServerGate()
        server.route("/slow", .generated(size: 100_000).stalled(afterBytes: 10_000, until: gate))
        let task = session.dataTask(with: server.url("/slow"))
        task.taskDescription = "mine"
        task.priority = URLSessionTask.highPriority
        task.resume()
        await witness.wait { $0.contains(.wrote(10_000, of: 100_000)) }
        let tasks = await SessionTasks.unfinished(of: session)
        let download = try #require(tasks.first as? URLSessionDownloadTask)
        #expect(tasks.count == 1)
        #expect(task.state == .completed)
        #expect(download.state == .running)
        #expect(download.taskIdentifier != task.taskIdentifier)
        #expect(download.originalRequest == task.originalRequest)
        #expect(download.response === task.response)
        #expect(download.taskDescription == "mine")
        #expect(download.priority == URLSessionTask.highPriority)
        #expect(download.countOfBytesReceived == 10_000)
        gate.open()
        await witness.completion()
        #expect(download.state == .completed)
    }

    @Test(
        "The priority is limited to the range from 0 to 1",
        arguments: [
            (-1, 0), (0, 0), (0.3, 0.3), (1, 1), (7, 1), (.infinity, 1), (-.infinity, 0),
        ] as [(Float, Float)])
    func priority(_ given: Float, _ kept: Float) throws {
        let session = sandbox.session()
        let task = session.dataTask(with: URL(string: "http://127.0.0.1:1/")!)
        task.priority = given
        #expect(task.priority == kept)
    }

    @Test("Task identifiers are unique in a session")
    func identifiers() async throws {
        let session = sandbox.session()
        let url = URL(string: "http://127.0.0.1:1/")!
        let identifiers = await withTaskGroup(of: Int.self) { group in
            for index in 0..<200 {
                group.addTask {
                    (index.isMultiple(of: 2) ? session.dataTask(with: url) : session.downloadTask(with: url))
                        .taskIdentifier
                }
            }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(Set(identifiers).count == 200)
    }

    @Test("taskDescription is what the caller sets")
    func taskDescription() throws {
        let session = sandbox.session()
        let task = session.downloadTask(with: URL(string: "http://127.0.0.1:1/")!)
        task.taskDescription = "chapter one"
        #expect(task.taskDescription == "chapter one")
        task.taskDescription = nil
        #expect(task.taskDescription == nil)
        session.sessionDescription = "books"
        #expect(session.sessionDescription == "books")
    }

    /// A delegate that uses its task once more when it goes.
    private final class LeavingDelegate: NSObject, URLSessionTaskDelegate {
        private let task: URLSessionTask

        init(of task: URLSessionTask) { self.task = task }

        deinit { task.taskDescription = "gone" }
    }

    @Test("A delegate that is replaced may use the task in its deinit")
    func replacedDelegate() {
        let task = sandbox.session().dataTask(with: URL(string: "http://127.0.0.1:1/")!)
        task.delegate = LeavingDelegate(of: task)
        task.delegate = nil
        #expect(task.taskDescription == "gone")
    }

    @Test("A copy is the task itself")
    func copy() throws {
        let session = sandbox.session()
        let task = session.dataTask(with: URL(string: "http://127.0.0.1:1/")!)
        #expect(task.copy() as? URLSessionTask === task)
        #expect(Set([task, task.copy() as? URLSessionDataTask]).count == 1)
    }
}
