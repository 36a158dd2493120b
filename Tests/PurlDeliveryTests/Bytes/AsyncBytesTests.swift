import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("bytes(for:) delivers a body byte by byte while it arrives", .timeLimit(.minutes(5)))
struct AsyncBytesTests {
    private let gate = ServerGate()
    private let sandbox = Sandbox()
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    @Test("All bytes are delivered in order", arguments: [0, 1, 1000, 500_000])
    func all(size: Int) async throws {
        let content = GeneratedContent(size: size, seed: 3)
        let url = server.route("/file", .generated(content))
        let session = sandbox.session()
        let (bytes, response) = try await session.bytes(from: url)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(bytes.task.response?.url == url)
        var received = Data()
        for try await byte in bytes { received.append(byte) }
        #expect(content.matches(received))
    }

    @Test("The response is returned before the body, and each piece before the next is sent")
    func asTheyCome() async throws {
        let url = server.route("/file", .text("ab").stalled(afterBytes: 1, until: gate))
        let session = sandbox.session()
        let (bytes, _) = try await session.bytes(for: URLRequest(url: url))
        var iterator = bytes.makeAsyncIterator()
        #expect(try await iterator.next() == UInt8(ascii: "a"))
        gate.open()
        #expect(try await iterator.next() == UInt8(ascii: "b"))
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
    }

    @MainActor @Test("Bytes can be iterated on the main actor")
    func isolated() async throws {
        let session = sandbox.session()
        let (bytes, _) = try await session.bytes(from: server.route("/file", .generated(size: 100_000)))
        var count = 0
        for try await _ in bytes {
            MainActor.assertIsolated()
            count += 1
        }
        #expect(count == 100_000)
    }

    @Test("Bytes can be iterated on an actor, and an iterator's next stays there")
    func isolatedToActor() async throws {
        actor Reader {
            func read(_ bytes: URLSession.AsyncBytes) async throws -> Int {
                var iterator = bytes.makeAsyncIterator()
                var count = 0
                while try await iterator.next() != nil, count < 1000 {
                    assertIsolated()
                    count += 1
                }
                for try await _ in bytes {
                    assertIsolated()
                    count += 1
                }
                return count
            }
        }
        let session = sandbox.session()
        let url = server.route("/file", .text("ab"))
        #expect(try await Reader().read(try await session.bytes(from: url).0) == 2)
    }

    @Test("Two iterators share the bytes")
    func shared() async throws {
        let content = GeneratedContent(size: 500_000, seed: 8)
        let session = sandbox.session { $0.limits.bufferedBytesPerTask = 100_000 }
        let (bytes, _) = try await session.bytes(from: server.route("/file", .generated(content)))
        async let first = bytes.reduce(into: 0) { count, _ in count += 1 }
        async let second = bytes.reduce(into: 0) { count, _ in count += 1 }
        #expect(try await first + second == 500_000)
    }

    @Test("Each line of a thousand is delivered before the server sends the next one")
    func events() async throws {
        let gates = (0..<1000).map { _ in ServerGate() }
        var script = StreamScript.listening
        for (index, gate) in gates.enumerated() { script = script.send("data: \(index)\n\n").wait(at: gate) }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        let url = server.route("/events", .stream(script.finish(), after: head))
        let session = sandbox.session()
        var count = 0
        for try await line in try await session.bytes(from: url).0.lines {
            #expect(line == "data: \(count)")
            gates[count].open()
            count += 1
        }
        #expect(count == 1000)
    }

    @Test("Lines count as taken only when more are asked for, which holds up the server")
    func backPressureOfLines() async throws {
        let line = String(repeating: "x", count: 99) + "\n"
        let url = server.route("/file", .text(String(repeating: line, count: 20_000)))
        let session = sandbox.session { $0.limits.bufferedBytesPerTask = 100_000 }
        let (bytes, _) = try await session.bytes(from: url)
        var iterator = bytes.lines.makeAsyncIterator()
        var count = 0
        while count < 1_000, try await iterator.next() != nil { count += 1 }
        // At most one read of the socket beyond the limit, and what the iterator holds.
        #expect(bytes.task.countOfBytesReceived < 100_000 + 2 * (100_000 + 262_144))
        while try await iterator.next() != nil { count += 1 }
        #expect(count == 20_000)
    }

    @Test("Coded bodies are decoded, and redirects are followed")
    func decoded() async throws {
        let gzip = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA=") ?? Data()
        server.route("/coded", .bytes(gzip).field("Content-Encoding", "gzip"))
        let session = sandbox.session()
        let (bytes, response) = try await session.bytes(from: server.route("/moved", .redirect(to: "/coded")))
        var text = ""
        for try await line in bytes.lines { text += line }
        #expect(text == "hello, hello, hello")
        #expect(response.url == server.url("/coded"))
    }

    @Test("A failure before the response is thrown by bytes(for:)")
    func refused() async throws {
        let port = try DeadPort()
        let session = sandbox.session()
        let error = await #expect(throws: URLError.self) { try await session.bytes(from: port.url("/")) }
        #expect(error?.code == .cannotConnectToHost)
        #expect(error?.failingURL == port.url("/"))
    }

    @Test("A failure in the body is thrown after the received bytes, and the sequence has ended")
    func cut() async throws {
        let session = sandbox.session()
        let url = server.route("/file", .generated(size: 5000).cut(afterBytes: 3000))
        let (bytes, _) = try await session.bytes(from: url)
        var iterator = bytes.makeAsyncIterator()
        var count = 0
        let error = await #expect(throws: URLError.self) {
            while try await iterator.next() != nil { count += 1 }
        }
        #expect(error?.code == .networkConnectionLost)
        #expect(count == 3000)
        #expect(try await iterator.next() == nil)
    }

    @Test("An iterator that takes no bytes stops the server from sending")
    func backPressure() async throws {
        let size = 4 << 20
        let url = server.route("/file", .generated(size: size))
        let session = sandbox.session { $0.limits.bufferedBytesPerTask = 100_000 }
        let (bytes, _) = try await session.bytes(from: url)
        var iterator = bytes.makeAsyncIterator()
        var count = 0
        while count < 100_000, try await iterator.next() != nil { count += 1 }
        // At most one read of the socket beyond the limit, and what the iterator holds.
        #expect(bytes.task.countOfBytesReceived < 100_000 + 2 * (100_000 + 262_144))
        while try await iterator.next() != nil { count += 1 }
        #expect(count == size)
    }

    @Test("Cancelling the Swift task cancels the transfer")
    func cancel() async throws {
        let url = server.route("/file", .generated(size: 1000).stalled(afterBytes: 10, until: gate))
        let session = sandbox.session()
        let started = Signal()
        let work = Task {
            let (bytes, _) = try await session.bytes(from: url)
            for try await _ in bytes { started.set() }
        }
        await started.wait()
        work.cancel()
        let error = await #expect(throws: URLError.self) { try await work.value }
        #expect(error?.code == .cancelled)
        await server.waitUntilDisconnected()
        gate.open()
    }

    @Test("A Swift task that is cancelled before the response makes bytes(for:) throw")
    func cancelEarly() async throws {
        let url = server.route("/file", .text("hello").delayed(until: gate))
        let session = sandbox.session()
        let work = Task { try await session.bytes(from: url) }
        await gate.reached()
        work.cancel()
        let error = await #expect(throws: URLError.self) { _ = try await work.value }
        #expect(error?.code == .cancelled)
        gate.open()
    }

    @Test("A Swift task that is cancelled before bytes(for:) makes it throw without a request")
    func cancelFirst() async throws {
        let url = server.route("/file", .text("hello"))
        let session = sandbox.session()
        let work = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await session.bytes(from: url)
        }
        let error = await #expect(throws: URLError.self) { _ = try await work.value }
        #expect(error?.code == .cancelled)
        #expect(server.requests.isEmpty)
    }

    @Test("Leaving the loop and releasing the sequence cancels the transfer")
    func leavingLoop() async throws {
        let url = server.route("/file", .generated(size: 256 << 20))
        let session = sandbox.session()
        func readSome() async throws -> Int {
            var count = 0
            for try await _ in try await session.bytes(from: url).0 {
                count += 1
                if count == 10 { break }
            }
            return count
        }
        #expect(try await readSome() == 10)
        await server.waitUntilDisconnected()
    }

    @Test("The delegate of bytes(for:) receives its task's calls")
    func delegate() async throws {
        let observer = TaskWitness()
        let session = sandbox.session()
        let (bytes, _) = try await session.bytes(from: server.route("/file", .text("hello")), delegate: observer)
        for try await _ in bytes {}
        #expect(observer.events == [.created, .response(200), .metrics(transactions: 1)])
    }
}
