import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import SessionFixtures

@Suite("The settings of a session", .timeLimit(.minutes(5)))
struct SessionSettingTests {
    private let sandbox = Sandbox()

    @Test("A session copies its configuration")
    func copied() async throws {
        let server = try LoopbackServer()
        server.route("/file", .echo)
        let configuration = sandbox.configuration { $0.httpAdditionalHeaders = ["X-When": "before"] }
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        configuration.httpAdditionalHeaders = ["X-When": "after"]
        configuration.httpMaximumConnectionsPerHost = 77
        session.configuration.httpMaximumConnectionsPerHost = 78
        session.configuration.httpAdditionalHeaders = [:]
        _ = try await session.data(from: server.url("/file"))
        #expect(server.requests.map { $0.fields["X-When"] } == ["before"])
        #expect(session.configuration.httpMaximumConnectionsPerHost == 6)
        #expect(session.configuration.httpAdditionalHeaders as? [String: String] == ["X-When": "before"])
        #expect(session.configuration !== configuration)
    }

    @Test("A copy of a configuration is independent")
    func independent() throws {
        let configuration = URLSessionConfiguration.default
        configuration.timeoutIntervalForRequest = 5
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        copy.timeoutIntervalForRequest = 6
        #expect(configuration.timeoutIntervalForRequest == 5)
        #expect(URLSessionConfiguration.default.timeoutIntervalForRequest == 60)
        #expect(URLSessionConfiguration.default !== URLSessionConfiguration.default)
    }

    @Test("delegateQueue is the queue that was passed, or a serial one")
    func queue() throws {
        let queue = OperationQueue()
        let given = sandbox.session(queue: queue)
        let own = sandbox.session()
        let other = sandbox.session()
        #expect(given.delegateQueue === queue)
        #expect(own.delegateQueue.maxConcurrentOperationCount == 1)
        #expect(own.delegateQueue !== other.delegateQueue)
    }

    @Test("A session opens no more connections than its configuration allows", arguments: [1, 3, 6])
    func connectionLimit(_ limit: Int) async throws {
        let server = try LoopbackServer()
        let gate = ServerGate()
        server.fallback(.generated(size: 1_000).delayed(until: gate))
        let witness = Witness()
        let session = sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = limit }
        for index in 0..<20 { session.dataTask(with: server.url("/\(index)")).resume() }
        await gate.reached(times: limit)
        #expect(server.openConnections == limit)
        gate.open()
        await witness.completion(of: 20)
        #expect(server.acceptedConnections == limit)
        #expect(Set(server.requests.map(\.path)).count == 20)
        #expect(server.requests.prefix(limit).map(\.path).sorted() == (0..<limit).map { "/\($0)" })
    }

    @Test("200 tasks made on many threads all complete")
    func threads() async throws {
        let server = try LoopbackServer()
        let contents = (0..<8).map { GeneratedContent(size: 5_000 + $0, seed: UInt64($0)) }
        for (index, content) in contents.enumerated() { server.route("/\(index)", .generated(content)) }
        let witness = Witness()
        let session = sandbox.session(witness)
        let tasks = Mutex<[(URLSessionTask, Int)]>([])
        DispatchQueue.concurrentPerform(iterations: 200) { index in
            let url = server.url("/\(index % 8)")
            let isDownload = index.isMultiple(of: 3)
            let task: URLSessionTask = isDownload ? session.downloadTask(with: url) : session.dataTask(with: url)
            tasks.withLock { $0.append((task, index % 8)) }
            task.resume()
        }
        await witness.completion(of: 200)
        for (task, index) in tasks.withLock({ $0 }) {
            let body = task is URLSessionDownloadTask ? witness.file(of: task) : witness.data(of: task)
            #expect(body == contents[index].data)
            #expect(witness.error(of: task) == nil)
        }
        #expect(witness.events.count { $0 == .completed(nil) } == 200)
        #expect(server.acceptedConnections <= 6)
        #expect(await SessionTasks.unfinished(of: session).isEmpty)
        #expect(sandbox.partialNames == [])
    }
}
