import Foundation
import Purl
import PurlTesting
import PurlTrace

/// A download that is redirected, paused, cut off and resumed, under a clock that is turned by hand.
struct Film {
    private static let content = GeneratedContent(size: 3000, seed: 7)

    let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    /// Runs it once, and returns what was recorded.
    func run(_ options: TransferTrace.Options = .init()) async throws -> TransferTrace.Recording {
        let gate = ServerGate()
        let reel = server.route(
            "/reel",
            .generated(Self.content).entityTag("\"take-1\"").stalled(afterBytes: 1000, until: gate, times: 1))
        let film = server.route("/film", .redirect(to: reel.absoluteString))
        let folder = try TemporaryFolder()
        let clock = ManualClock()
        let trace = TransferTrace(options: options)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.partialDownloadsDirectory = folder.url
        configuration.connectionProxyDictionary = [:]
        configuration.clock = clock
        configuration.trace = trace
        let delegate = FilmDelegate()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)

        let task = session.downloadTask(with: film)
        task.resume()
        await gate.reached()
        await trace.waits { $0.kind.ends(.didWriteData) }

        clock.advance(by: .milliseconds(800))
        task.suspend()
        await trace.waits { $0.kind == .held(.suspended) }
        clock.advance(by: .seconds(5))
        task.resume()
        await trace.waits { $0.kind == .released(.suspended) }

        clock.advance(by: .milliseconds(200))
        server.closeConnections()
        await trace.waits { $0.kind.ends(.didComplete) }

        clock.advance(by: .seconds(1))
        if let resumeData = delegate.state.value.resumeData {
            session.downloadTask(withResumeData: resumeData).resume()
        }
        await trace.waits(2) { $0.kind.ends(.didComplete) }
        session.finishTasksAndInvalidate()
        return trace.recording
    }
}

extension TransferTrace.Kind {
    func ends(_ method: TransferTrace.DelegateMethod) -> Bool {
        if case .ended(let call) = self { call.method == method } else { false }
    }
}
