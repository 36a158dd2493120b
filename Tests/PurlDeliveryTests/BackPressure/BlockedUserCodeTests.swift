import Foundation
import PurlTesting
import Synchronization
import Testing

@testable import Purl
@testable import SessionFixtures

/// User code that blocks keeps threads of its kind alone. Some hundreds of it once stopped every transfer of the process.
@Suite("User code that blocks, and the other sessions of the process", .timeLimit(.minutes(5)), .serialized)
struct BlockedUserCodeTests {
    /// A place where calls of the user's code block until the test is over.
    private final class Jam: Sendable {
        private let barrier = CallBarrier()
        private let entries = EventLog<Void>()

        func enter() {
            entries.append(())
            barrier.pass()
        }

        func wait(for count: Int) async { await entries.wait { $0.count >= count } }

        func dissolve() { barrier.open() }
    }

    private final class BlockedOutput: OutputStream {
        private let jam: Jam

        init(_ jam: Jam) {
            self.jam = jam
            super.init(toMemory: ())
        }

        required init(toMemory memory: ()) {
            jam = Jam()
            super.init(toMemory: memory)
        }

        override var streamStatus: Stream.Status { .open }

        override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
            jam.enter()
            return length
        }
    }

    private final class BlockedInput: InputStream {
        private let jam: Jam

        init(_ jam: Jam) {
            self.jam = jam
            super.init(data: Data())
        }

        override var streamStatus: Stream.Status { .open }

        override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
            jam.enter()
            return 0
        }
    }

    private final class BlockedProtocol: URLProtocol {
        static let jams = Mutex<[String: Jam]>([:])

        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            Self.jams.withLock { $0[request.url?.host ?? ""] }?.enter()
            client?.urlProtocolDidFinishLoading(self)
        }

        override func stopLoading() {}
    }

    private let server: LoopbackServer
    private let sandbox = Sandbox()
    private let jam = Jam()

    init() throws {
        server = try LoopbackServer(.memory)
        server.route("/file", .text("content"))
    }

    private func session(
        _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        sandbox.session(delegate) {
            $0.connector = server.connector
            $0.httpMaximumConnectionsPerHost = 1_000
            change($0)
        }
    }

    /// Another session loads in every way: with a handler, a delegate, into a file, from a file, and from a protocol.
    private func expectAnswers() async throws {
        let url = server.url("/file")
        let content = Data("content".utf8)
        let witness = Witness()
        let other = session(witness)
        defer { other.invalidateAndCancel() }
        let handled = await withCheckedContinuation { continuation in
            other.dataTask(with: url) { data, _, _ in continuation.resume(returning: data) }.resume()
        }
        #expect(handled == content)
        let task = other.dataTask(with: url).resumed()
        await witness.completion()
        #expect(witness.data(of: task) == content)
        let (file, _) = try await other.download(from: url)
        #expect(try Data(contentsOf: file) == content)
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        #expect(try await other.upload(for: request, fromFile: file).0 == content)
        try FileManager.default.removeItem(at: file)
    }

    /// Lets all go, and waits until nothing of it is left.
    private func dissolve(_ sessions: [URLSession]) async {
        jam.dissolve()
        for session in sessions {
            for task in await SessionTasks.unfinished(of: session) { task.cancel() }
            await SessionTasks.waitUntilCompleted(of: session)
            session.invalidateAndCancel()
        }
    }

    @Test("Three hundred sinks and three hundred body streams that block hold up no transfer of another session")
    func streams() async throws {
        let blocked = session()
        for _ in 0..<300 {
            // Each is its task's alone.
            nonisolated(unsafe) let output = BlockedOutput(jam)
            blocked.dataTask(with: server.url("/file"), writingTo: OutputStreamSink(output)).resume()
            var request = URLRequest(url: server.url("/file"))
            request.httpMethod = "POST"
            request.httpBodyStream = BlockedInput(jam)
            blocked.dataTask(with: request).resume()
        }
        await jam.wait(for: 500)
        try await expectAnswers()
        await dissolve([blocked])
    }

    @Test("Three hundred protocols that block hold up no transfer of another session")
    func protocols() async throws {
        let host = "\(UUID().uuidString.lowercased()).invalid"
        BlockedProtocol.jams.withLock { $0[host] = jam }
        let blocked = session { $0.protocolClasses = [BlockedProtocol.self] }
        for number in 0..<300 {
            blocked.dataTask(with: try #require(URL(string: "http://\(host)/\(number)"))).resume()
        }
        await jam.wait(for: 250)
        try await expectAnswers()
        await dissolve([blocked])
    }

    @Test("Three hundred sessions whose delegates block hold up no other")
    func delegates() async throws {
        let blocked = (0..<300).map { _ in session() }
        for session in blocked {
            session.dataTask(with: server.url("/file")) { [jam] _, _, _ in jam.enter() }.resume()
        }
        await jam.wait(for: 300)
        try await expectAnswers()
        await dissolve(blocked)
    }
}

@Suite("The pools of threads for sessions' own queues")
struct DelegatePoolsTests {
    @Test("No pool gets more queues than it has threads while another has a thread left")
    func filling() {
        var pools = DelegatePools()
        let count = DelegatePools.qualities.count * DelegatePools.threads
        let places = (0..<count).map { _ in pools.add() }
        for pool in DelegatePools.qualities.indices {
            #expect(places.count { $0 == pool } == DelegatePools.threads)
        }
        pools.remove(from: 1)
        #expect(pools.add() == 1)
    }

    @Test("When all are full, the queues are spread evenly")
    func overflowing() {
        var pools = DelegatePools()
        let qualities = DelegatePools.qualities.count
        for _ in 0..<(qualities * DelegatePools.threads) { _ = pools.add() }
        #expect(Set((0..<qualities).map { _ in pools.add() }).count == qualities)
    }
}
