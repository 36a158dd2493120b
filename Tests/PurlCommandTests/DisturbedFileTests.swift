import Foundation
import Purl
import PurlTesting
import Synchronization
import Testing

@testable import PurlCommand

@Suite("A partial file that another program changes while it is written", .timeLimit(.minutes(5)))
struct DisturbedFileTests {
    static let content = GeneratedContent(size: 2_500_000, seed: 9)

    let folder = TemporaryFolder()
    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    enum Body: CaseIterable, Sendable {
        case known, chunked, untilClose

        var reply: Reply {
            let reply = Reply.generated(DisturbedFileTests.content).entityTag("\"v1\"").inPieces(of: 300_000)
            return switch self {
            case .known: reply
            case .chunked: reply.chunked()
            case .untilClose: reply.untilClose()
            }
        }
    }

    enum Disturbance: CaseIterable, Sendable {
        case emptied, shortened, extended, removed, replaced

        func apply(to path: String) {
            switch self {
            case .emptied: #expect(truncate(path, 0) == 0)
            case .shortened: #expect(truncate(path, 1) == 0)
            case .extended:
                let file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
                #expect(write(file, "mine", 4) == 4)
                close(file)
            case .removed: #expect(unlink(path) == 0)
            case .replaced:
                let other = path + ".other"
                let file = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
                #expect(write(file, "mine", 4) == 4)
                close(file)
                #expect(rename(other, path) == 0)
            }
        }

        /// The end of the sentence that purl prints.
        var sentence: String {
            switch self {
            case .emptied, .shortened, .extended:
                "film.bin.part could not be written: another program has changed it while it was written."
            case .removed: "“film.bin.part” was removed or renamed while it was written."
            case .replaced:
                "“film.bin.part” was moved or replaced while it was written. What has the name now was left as it is."
            }
        }
    }

    /// Runs a download whose partial file is disturbed after the first change that `isTrigger` accepts.
    private func get(
        _ url: URL, _ disturbance: Disturbance, after isTrigger: @escaping @Sendable (WatchedFiles.Change) -> Bool,
        then proceed: @escaping @Sendable () -> Void = {}
    ) async throws -> InProcessGet {
        let path = folder.file("film.bin.part").path
        let isDone = Mutex(false)
        let files = WatchedFiles { change in
            let isFirst = isDone.withLock { isDone in
                guard !isDone, isTrigger(change) else { return false }
                isDone = true
                return true
            }
            if isFirst {
                disturbance.apply(to: path)
                proceed()
            }
        }
        return try await InProcessGet(url, in: folder, through: files)
    }

    @Test(
        "The download fails, nothing wrong becomes the file, and the same command does not resume from it",
        arguments: Body.allCases, Disturbance.allCases)
    func disturbed(body: Body, disturbance: Disturbance) async throws {
        let url = server.route("/film.bin", body.reply)
        let run = try await get(url, disturbance) { $0 == .write("film.bin.part") }
        #expect(run.outcome == .failed)
        let errors = run.lines.filter { $0.hasPrefix("purl: ") }
        #expect(errors.count == 1)
        #expect(errors.last?.hasSuffix(disturbance.sentence) == true, "\(run.lines)")
        #expect(!folder.names.contains("film.bin"))
        switch disturbance {
        case .removed: #expect(folder.names.isEmpty)
        case .replaced: #expect(folder.names == ["film.bin.part"])
        case .emptied, .shortened, .extended: break
        }

        let (code, _) = try await PurlProcess.run(["get", url.absoluteString], in: folder)
        if disturbance == .replaced {
            #expect(code == 1)
            #expect(folder.contents("film.bin.part") == Data("mine".utf8))
        } else {
            #expect(code == 0)
            #expect(try Self.content.matches(fileAt: folder.file("film.bin")))
        }
    }

    @Test("A record that counts bytes which are no longer there resumes nothing")
    func cutAfterCheckpoint() async throws {
        let gate = ServerGate()
        let url = server.route("/film.bin", Body.known.reply.stalled(afterBytes: 900_000, until: gate, times: 1))
        // The checkpoint is made while the server sends nothing.
        let run = try await get(url, .shortened) { [folder] change in
            guard change == .move("film.bin.resume.new", to: "film.bin.resume") else { return false }
            return ResumeRecord(contentsOf: folder.file("film.bin.resume"))?.bytesReceived == 900_000
        } then: {
            gate.open()
        }
        #expect(run.outcome == .failed)
        #expect(run.lines.last == "film.bin: “film.bin.part” cannot be resumed. It was left as it is.")
        let (code, lines) = try await PurlProcess.run(["get", url.absoluteString], in: folder)
        #expect(code == 1)
        #expect(lines.last?.contains("“film.bin.part” does not match its record") == true)
        #expect(folder.names == ["film.bin.part", "film.bin.resume"])
    }
}
