import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("A success that comes before the body was sent", .timeLimit(.minutes(5)))
struct EarlySuccessTests {
    private let sandbox = Sandbox()
    static let success = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    struct Row: Sendable, CustomTestStringConvertible {
        let form: UploadForm
        let transport: LoopbackServer.Transport
        let response: String

        var isInMemory: Bool { if case .memory = transport { true } else { false } }

        var testDescription: String {
            let status = response.prefix { $0 != "\r" }
            return "\(form.rawValue), \(isInMemory ? "in memory" : "TCP"), \(status)"
        }
    }

    static let rows: [Row] = [LoopbackServer.Transport.ipv4, .memory].flatMap { transport in
        [UploadForm.data, .file, .measuredStream, .stream].map {
            Row(form: $0, transport: transport, response: success)
        } + [
            Row(
                form: .file, transport: transport,
                response: "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"),
            Row(
                form: .file, transport: transport,
                response: "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        ]
    }

    @Test("All of the body is sent after a complete success", arguments: rows)
    func sentToItsEnd(row: Row) async throws {
        let server = try LoopbackServer(row.transport)
        let gate = ServerGate()
        // Nothing is read before the client has the response.
        server.stream(.listening.notReading(until: gate).send(row.response))
        let upload = try Upload(row.form, GeneratedContent(size: Upload.blockedSize, seed: 7))
        let witness = Witness(hook: { _, event in if case .data = event { gate.open() } })
        let session = upload.sandbox.session(witness) { configuration in
            if row.isInMemory { configuration.connector = server.connector }
        }
        let task = try #require(upload.makeTask(Upload.request(server.url("/file")), in: session)).resumed()
        await witness.completion()
        #expect(task.error == nil && witness.data(of: task) == Data("ok".utf8))
        #expect(task.countOfBytesSent == Int64(upload.content.size))
        session.finishTasksAndInvalidate()
        await server.waitUntilDisconnected()
        let received = try #require(server.streams.first?.bytes)
        let head = try #require(received.firstRange(of: Data("\r\n\r\n".utf8)))
        let body = received[head.upperBound...]
        if row.form.isChunked {
            #expect(body.count > upload.content.size && body.suffix(5) == Data("0\r\n\r\n".utf8))
        } else {
            #expect(upload.content.matches(Data(body)))
        }
    }

    @Test("The connection carries another request when both messages are complete, and not before")
    func reuse() async throws {
        let content = GeneratedContent(size: Upload.blockedSize, seed: 8)
        let received = Signal()
        let seen = LockedValue<[Bool]>([])
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send(Self.success)
            await received.wait()
            let body = await peer.bytes(content.size)
            let next = await peer.head()
            seen.withLock { $0 = [content.matches(body), next?.hasPrefix("GET /next ") == true] }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes")
        }
        let upload = try Upload(.file, content)
        let witness = Witness(hook: { _, event in if case .data = event { received.set() } })
        let session = upload.sandbox.session(witness)
        let task = try #require(upload.makeTask(Upload.request(try listener.url("/file")), in: session)).resumed()
        await witness.completion()
        #expect(task.error == nil)
        #expect(try await session.data(from: listener.url("/next")).0 == Data("yes".utf8))
        #expect(listener.acceptedConnections == 1)
        #expect(seen.withLock { $0 } == [true, true])
    }

    @Test(
        "A server that closes the connection after a complete success does not want the rest", arguments: [false, true])
    func closed(byReset: Bool) async throws {
        let received = Signal()
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send(Self.success)
            await received.wait()
            if byReset { peer.reset() }
        }
        let upload = try Upload(.file, GeneratedContent(size: Upload.blockedSize, seed: 9))
        let witness = Witness(hook: { _, event in if case .data = event { received.set() } })
        let session = upload.sandbox.session(witness)
        let task = try #require(upload.makeTask(Upload.request(try listener.url("/file")), in: session)).resumed()
        await witness.completion()
        #expect(task.error == nil && witness.data(of: task) == Data("ok".utf8))
        // What is counted is what was sent.
        #expect(task.countOfBytesSent < Int64(upload.content.size))
    }

    @Test("A connection that closes before the success is complete fails the task")
    func incomplete() async throws {
        let received = Signal()
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok")
            await received.wait()
        }
        let upload = try Upload(.file, GeneratedContent(size: Upload.blockedSize, seed: 9))
        let witness = Witness(hook: { _, event in if case .data = event { received.set() } })
        let session = upload.sandbox.session(witness)
        let task = try #require(upload.makeTask(Upload.request(try listener.url("/file")), in: session)).resumed()
        await witness.completion()
        #expect((task.error as? URLError)?.code == .networkConnectionLost)
    }

    @Test("A body that cannot be read to its end fails the task after a success, too")
    func failingStream() async throws {
        let server = try LoopbackServer()
        server.stream(.listening.receive(1).send(Self.success))
        let barrier = CallBarrier()
        let witness = Witness(hook: { _, event in if case .data = event { barrier.open() } })
        var request = Upload.request(server.url("/file"))
        request.httpBodyStream = ScriptedStream(
            GeneratedContent(size: 600_000), then: .failure, waitingAt: (300_000, barrier))
        let task = sandbox.session(witness).dataTask(with: request).resumed()
        await witness.completion()
        #expect((task.error as? URLError)?.code == .requestBodyStreamExhausted)
    }

    @Test("A response with an enormous length leaves an upload's progress readable")
    func enormousLength() async throws {
        let listener = try await RawListener.started { peer in
            _ = await peer.head()
            _ = await peer.bytes(1000)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nok")
        }
        let upload = try Upload(.data, GeneratedContent(size: 1000))
        let totals = LockedValue<[Int64]>([])
        let witness = Witness(hook: { task, event in
            guard case .data = event else { return }
            let total = task.progress.totalUnitCount
            totals.withLock { $0.append(total) }
        })
        let session = upload.sandbox.session(witness)
        let task = try #require(upload.makeTask(Upload.request(try listener.url("/file")), in: session))
        let progress = task.progress
        task.resume()
        await witness.completion()
        #expect((task.error as? URLError)?.code == .networkConnectionLost)
        #expect(totals.withLock { $0 } == [.max] && progress.totalUnitCount == .max)
    }
}
