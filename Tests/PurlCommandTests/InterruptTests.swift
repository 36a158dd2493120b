import Dispatch
import Foundation
import PurlHTTP
import PurlIO
import PurlTesting
import Testing

@testable import PurlCommand

@Suite("Ctrl-C in purl", .timeLimit(.minutes(5)))
struct InterruptTests {
    /// In a process of its own, which an unhandled signal ends.
    @Test("cancels what is run from its first moment on", arguments: [SIGINT, SIGTERM])
    func firstMoment(signal: Int32) async {
        await #expect(processExitsWith: .success) { [signal] in
            let isCancelled = await Interrupts.cancelling(Console(STDERR_FILENO)) {
                kill(getpid(), signal)
                let (nothing, continuation) = AsyncStream<Void>.makeStream()
                // Ends when the task is cancelled.
                for await _ in nothing {}
                return withExtendedLifetime(continuation) { Task.isCancelled }
            }
            #expect(isCancelled)
        }
    }

    /// What a server sends as the rest of a file, with the digest of the right bytes, and what the disk does about wrong ones.
    enum Rest: CaseIterable {
        case right
        case wrong
        case wrongOnDiskThatKeepsLengths
    }

    @Test(
        "While the digest of a part is checked it stops the command, and no wrong bytes become the file",
        arguments: Rest.allCases, ["1", "4"])
    func duringCheck(rest: Rest, connections: String) async throws {
        let content = GeneratedContent(size: 4_000_000, seed: 1)
        let sent = rest == .right ? content : GeneratedContent(size: 4_000_000, seed: 2)
        var digest = SHA256()
        digest.update(content.bytes(3_000_000..<4_000_000).bytes)
        let field = "sha-256=:\(Data(digest.finalize()).base64EncodedString()):"
        let whole = Reply.generated(content).entityTag("\"v1\"").cut(afterBytes: 3_000_000)
        let part = Reply.generated(sent).entityTag("\"v1\"").field("Content-Digest", field)
        let (server, folder) = (try LoopbackServer(), TemporaryFolder())
        let url = server.route("/film.bin", whole.switching(after: 1, to: part))
        #expect(try await PurlProcess.run(["get", url.absoluteString], in: folder).exitCode == 1)

        // The check reads the part from its first byte.
        let (checks, toChecks) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let files = WatchedFiles(
            willRead: { name, offset in
                guard name == "film.bin.part", offset == 3_000_000 else { return }
                toChecks.yield()
                gate.wait()
                gate.signal()
            },
            willTruncate: { name throws(SystemError) in
                guard rest == .wrongOnDiskThatKeepsLengths, name == "film.bin.part" else { return }
                throw SystemError(code: EIO, operation: "ftruncate")
            })
        let run = Task {
            defer { toChecks.finish() }
            return try await InProcessGet(url, ["--connections", connections], in: folder, through: files)
        }
        for await _ in checks.prefix(1) {}
        run.cancel()
        gate.signal()

        let outcome = try await run.value.outcome
        switch rest {
        case .right:
            #expect(outcome == .complete(bytes: 4_000_000, new: 1_000_000))
            #expect(try content.matches(fileAt: folder.file("film.bin")))
        case .wrong:
            #expect(outcome == .interrupted)
            let isAsBefore = folder.contents("film.bin.part") == content.bytes(0..<3_000_000)
            #expect(isAsBefore)
            guard case .unfinished(let record) = PartFiles(for: folder.file("film.bin")).content(for: [url]) else {
                Issue.record("The part has no record: \(folder.names)")
                break
            }
            #expect(record.bytesReceived == 3_000_000)
        case .wrongOnDiskThatKeepsLengths:
            #expect(outcome == .interrupted)
        }
        #expect(folder.names.contains("film.bin") == (rest == .right))
        #expect(server.requests.count == 2)
        guard rest != .right else { return }

        // The next command does not count the wrong bytes either.
        server.route("/film.bin", .generated(content).entityTag("\"v1\""))
        #expect(try await PurlProcess.run(["get", url.absoluteString], in: folder).exitCode == 0)
        #expect(folder.contents("film.bin") == content.data)
    }
}
