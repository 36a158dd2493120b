import Faults
import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The flow of bytes through a secure connection", .timeLimit(.minutes(5)))
struct SecureFlowTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var gate: @Sendable (inout FakeGate.Script) -> Void = { _ in }
        var client: @Sendable (inout FakeProvider.Script) -> Void = { _ in }
    }

    static let rows: [Row] = [
        Row(testDescription: "records of 16 KiB"),
        Row(testDescription: "records of one byte", gate: { $0.recordSize = 1 }, client: { $0.recordSize = 1 }),
        Row(testDescription: "writes that take seven bytes", client: { $0.writeLimit = 7 }),
        Row(testDescription: "reads that give one byte", client: { $0.readLimit = 1 }),
        Row(
            testDescription: "tickets between all pieces",
            gate: {
                $0.beforeContent = FakeRecord.encode(.ticket, [1])
                $0.afterContent = FakeRecord.encode(.ticket, [2])
            }),
        Row(testDescription: "changes of keys", gate: { $0.afterContent = FakeRecord.encode(.keyRequest) }),
    ]

    @Test("A body arrives whole, however it is cut into records", arguments: rows, [0, 1, 16_384, 40_000])
    func bodies(row: Row, size: Int) async throws {
        let stage = try await SecureStage(row.gate, provider: FakeProvider(row.client))
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        let url = stage.route("/echo", .computed { .bytes($0.body) })
        let session = stage.session()
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        for _ in 0..<2 {
            let (body, _) = try await session.upload(for: request, from: content)
            #expect(body.isSame(as: content))
        }
        #expect(stage.gate.seen.hellos.count == 1)
    }

    @Test(
        "A body arrives whole in real records", .enabled(if: TestAuthority.isAvailable),
        arguments: [0, 1, 16_384, 200_000])
    func realBodies(size: Int) async throws {
        let stage = try await SecureStage(over: .openSSL)
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        let url = stage.route("/echo", .computed { .bytes($0.body) })
        let session = stage.session()
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        for _ in 0..<2 {
            let (body, _) = try await session.upload(for: request, from: content)
            #expect(body.isSame(as: content))
        }
        #expect(stage.hosts.count == 1)
    }

    @Test("What the session has to send by itself goes out while the owner only reads")
    func answers() async throws {
        let stage = try await SecureStage { $0.afterContent = FakeRecord.encode(.keyRequest) }
        let url = stage.route("/file", .generated(size: 300_000))
        let session = stage.session()
        _ = try await session.data(from: url)
        await stage.gate.wait { $0.newKeys > 0 }
    }

    @Test("A server that does not read stops the upload; little is held in memory", arguments: [64, 16_384])
    func sendingWaits(recordSize: Int) async throws {
        let stage = try await SecureStage(
            { $0.readsNothing = true }, provider: FakeProvider { $0.recordSize = recordSize })
        let url = stage.route("/take", .text("never"))
        let file = stage.sandbox.file("large")
        try Data(count: 32 << 20).write(to: file)
        let session = stage.session(Witness())
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        let task = session.uploadTask(with: request, fromFile: file).resumed()
        await stage.gate.wait { !$0.hellos.isEmpty }
        // It stops when the system's buffers are full, which is long before the end.
        var before: Int64 = -1
        while task.countOfBytesSent > before {
            before = task.countOfBytesSent
            for _ in 0..<200 { await NetworkThread.settle() }
        }
        #expect(task.countOfBytesSent < 24 << 20)
        #expect(task.state == .running)
    }

    @Test("A delegate that is slow makes the server wait", arguments: [1024, 16_384])
    func receivingWaits(recordSize: Int) async throws {
        let stage = try await SecureStage { $0.recordSize = recordSize }
        let url = stage.route("/file", .generated(size: 24 << 20))
        let gate = DispatchSemaphore(value: 0)
        let witness = Witness(hook: { _, event in if case .data = event { gate.wait() } })
        let session = stage.session(witness) { $0.limits.bufferedBytesPerTask = 65_536 }
        let task = session.dataTask(with: url).resumed()
        await stage.server.wait { ($0.requests.first?.bytesSent ?? 0) > 0 }
        for _ in 0..<500 { await NetworkThread.settle() }
        #expect((stage.server.requests.first?.bytesSent ?? 0) < 16 << 20)
        task.cancel()
        for _ in 0..<4000 { gate.signal() }
        await witness.completion()
    }

    @Test("A task that is suspended receives nothing more, and continues", arguments: SecureLayer.available)
    func suspension(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .generated(size: 3_000_000))
        let witness = Witness()
        let session = stage.session(witness)
        let task = session.dataTask(with: url).resumed()
        await witness.wait { $0.contains { if case .data = $0 { true } else { false } } }
        task.suspend()
        await NetworkThread.settle()
        task.resume()
        await witness.completion()
        #expect(witness.data(of: task).count == 3_000_000)
    }

    @Test("The session's limits of bytes a second go for secure connections, too", arguments: SecureLayer.available)
    func rates(layer: SecureLayer) async throws {
        let stage = try await SecureStage(over: layer)
        let url = stage.route("/file", .generated(size: 100_000))
        let session = stage.session { $0.limits.bytesReceivedPerSecond = 400_000 }
        #expect(try await session.data(from: url).0.count == 100_000)
    }
}
