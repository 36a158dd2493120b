import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting
import Testing

/// The default provider is the process's, so that each program has a process of its own.
@Suite("Background sessions and the default TLS provider", .enabled(if: hasOpenSSL), .timeLimit(.minutes(5)))
struct BackgroundProviderTests {
    @Test("What an earlier process has begun finishes where the default is set before its session is made")
    func setBefore() async throws {
        let stage = try await Stage()
        defer { stage.removeFolder() }
        await #expect(processExitsWith: .success) { [program = stage.program as BackgroundProgram] in
            program.setDefault()
            let session = program.session(ManualClock())
            #expect(await session.allTasks.count == 1)
            #expect(await program.end() == .finished(bytes: 300_000))
        }
        #expect(stage.server.requests.map { $0.fields["Range"] } == [nil, "bytes=100000-"])
    }

    @Test("It fails where the session resumes it first, and nothing is sent; what is begun after the line is loaded")
    func setAfterwards() async throws {
        let stage = try await Stage()
        defer { stage.removeFolder() }
        await #expect(processExitsWith: .success) { [program = stage.program as BackgroundProgram] in
            let session = program.session()
            _ = await session.allTasks
            #expect(await program.end() == .failed(.unsupportedURL))
            program.setDefault()
            session.downloadTask(with: program.url).resume()
            #expect(await program.end() == .finished(bytes: 300_000))
        }
        #expect(stage.server.requests.count == 2)
    }
}

/// A server, and a process that has begun a download in a background session and ended.
private struct Stage {
    let server: LoopbackServer
    let program: BackgroundProgram

    init() async throws {
        let authority = TestAuthority()
        server = try LoopbackServer(tls: authority)
        let gate = ServerGate()
        let film = Reply.generated(size: 300_000).entityTag("\"v1\"")
        let url = server.route("/film", film.stalled(afterBytes: 100_000, until: gate))
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("purl-tls-\(UUID().uuidString)")
        program = BackgroundProgram(url: url, folder: folder, root: try authority.rootDER)
        await #expect(processExitsWith: .success) { [program = program as BackgroundProgram] in
            program.setDefault()
            program.session().downloadTask(with: program.url).resume()
            await program.received(100_000)
        }
        gate.open()
    }

    func removeFolder() { try? FileManager.default.removeItem(at: program.folder) }
}

/// What the processes of one program have in common.
private struct BackgroundProgram: Codable, Sendable {
    enum End: Equatable {
        case finished(bytes: Int)
        case failed(URLError.Code?)
    }

    let url: URL
    let folder: URL
    let root: Data

    func setDefault() { URLSessionConfiguration.defaultTLSProvider = SystemTLS(trusting: root) }

    /// - Parameter clock: By one that stands still the session waits to be asked for its tasks.
    func session(_ clock: (any Clock<Duration>)? = nil) -> URLSession {
        let configuration = URLSessionConfiguration.background(withIdentifier: "film")
        configuration.backgroundSessionsDirectory = folder
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("Partials")
        configuration.continuesDownloadsAfterRelaunch = true
        configuration.graceClock = clock
        configuration.proxyVariables = [:]
        return URLSession(configuration: configuration, delegate: Observer.shared, delegateQueue: nil)
    }

    /// Returns when as much has arrived.
    func received(_ count: Int64) async { await Observer.shared.seen.wait { $0.received >= count } }

    /// How the next download ends.
    func end() async -> End {
        await Observer.shared.seen.wait { !$0.ends.isEmpty }
        return Observer.shared.seen.update { $0.ends.removeFirst() }
    }

    private final class Observer: NSObject, URLSessionDownloadDelegate {
        struct Seen: Sendable {
            var received: Int64 = 0
            var ends: [End] = []
        }

        static let shared = Observer()

        let seen = Monitor(Seen())

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
            totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
        ) {
            seen.update { $0.received = totalBytesWritten }
        }

        func urlSession(
            _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
        ) {
            let count = (try? Data(contentsOf: location).count) ?? 0
            seen.update { $0.ends.append(.finished(bytes: count)) }
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            if let error { seen.update { $0.ends.append(.failed((error as? URLError)?.code)) } }
        }
    }
}
