import Foundation
import Purl
import PurlTesting
import Testing

/// Transfers leave no descriptors behind, however they end. Runs in a process of its own, so that it can count all.
@Suite(.timeLimit(.minutes(5))) struct DescriptorTests {
    @Test func threeHundredMixedTransfersLeaveNone() async {
        await #expect(processExitsWith: .success) {
            let server = try LoopbackServer()
            server.route("/file", .generated(size: 50_000))
            server.route("/cut", .generated(size: 50_000).cut(afterBytes: 20_000))
            server.route("/moved", .redirect(302, to: "/file"))
            server.route("/reset", .generated(size: 50_000).reset(afterBytes: 100))
            server.route("/closing", .generated(size: 50_000).closingConnection())
            server.route("/deaf", .status(200).delayed(until: Gate()))
            let sandbox = try Sandbox()
            try await DescriptorTests.transfer(30, server, sandbox)
            let before = DescriptorTests.openDescriptors
            try await DescriptorTests.transfer(300, server, sandbox)
            // The last references go in their own time; a leak would not go at all.
            for _ in 0..<10_000 where DescriptorTests.openDescriptors > before { await Task.yield() }
            #expect(DescriptorTests.openDescriptors <= before)
            #expect(sandbox.partialNames == [])
        }
    }

    /// How many descriptors the process has.
    private static var openDescriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    /// Makes `count` transfers of every kind, in sessions of ten; returns when all connections are closed.
    private static func transfer(_ count: Int, _ server: LoopbackServer, _ sandbox: Sandbox) async throws {
        for start in stride(from: 0, to: count, by: 10) {
            let witness = Witness(disposition: start.isMultiple(of: 20) ? .allow : .becomeDownload)
            let session = sandbox.session(witness)
            let tasks = [
                session.dataTask(with: server.url("/file")),
                session.downloadTask(with: server.url("/file")),
                session.dataTask(with: server.url("/moved")),
                session.downloadTask(with: server.url("/moved")),
                session.dataTask(with: server.url("/cut")),
                session.downloadTask(with: server.url("/reset")),
                session.downloadTask(with: server.url("/closing")),
                session.dataTask(with: URL(fileURLWithPath: "/nowhere")),
                session.dataTask(with: server.url("/nothing")),
                session.downloadTask(with: server.url("/deaf")),
            ]
            for task in tasks { task.resume() }
            await witness.completion(of: 9)
            tasks[9].cancel()
            session.finishTasksAndInvalidate()
            await witness.wait { $0.contains(.invalid) }
            let (file, _) = try await sandbox.session().download(from: server.url("/file"))
            try FileManager.default.removeItem(at: file)
        }
        await server.waitUntilDisconnected()
    }
}
