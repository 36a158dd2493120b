import Foundation
import Purl
import PurlTesting
import Testing

/// A slow consumer costs time, not memory. Each runs in a process of its own, so that the memory is its alone.
@Suite(.timeLimit(.minutes(5))) struct SlowDelegateTests {
    @Test func aSlowDelegateReadsAGibibyteInLittleMemory() async {
        await #expect(processExitsWith: .success) {
            let content = GeneratedContent(size: 1 << 30, seed: 51)
            let server = try LoopbackServer()
            server.route("/big", .generated(content))
            server.route("/small", .generated(size: 100_000))
            let sandbox = try Sandbox()
            // Whatever the first transfer needs once is not counted.
            _ = try await sandbox.session().data(from: server.url("/small"))
            let before = ProcessMemory.peak
            let check = BodyCheck(content) { _ in Self.work() }
            let session = sandbox.session(check)
            session.dataTask(with: server.url("/big")).resume()
            await check.completion()
            #expect(check.error == nil)
            #expect(check.received == 1 << 30)
            #expect(check.isRight)
            #expect(ProcessMemory.peak - before < 64 << 20)
        }
    }

    @Test func manySlowTasksNeedTheirLimitEach() async {
        await #expect(processExitsWith: .success) {
            let content = GeneratedContent(size: 16 << 20, seed: 52)
            let server = try LoopbackServer()
            server.route("/big", .generated(content))
            let sandbox = try Sandbox()
            _ = try await sandbox.session().data(from: server.url("/nothing"))
            let before = ProcessMemory.peak
            let checks = (0..<20).map { _ in BodyCheck(content) { _ in Self.work() } }
            for check in checks {
                sandbox.session(check) { $0.maximumBufferedBytesPerTask = 1 << 18 }
                    .dataTask(with: server.url("/big")).resume()
            }
            for check in checks {
                await check.completion()
                #expect(check.isRight && check.received == 16 << 20)
            }
            #expect(ProcessMemory.peak - before < 64 << 20)
        }
    }

    /// What a delegate does in one call: a millisecond of work.
    private static func work() {
        let end = ContinuousClock.now + .milliseconds(1)
        while ContinuousClock.now < end {}
    }
}
