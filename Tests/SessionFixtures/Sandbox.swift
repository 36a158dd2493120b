import Foundation
import Purl
import Synchronization
import Testing

/// A temporary folder of one test, for partial downloads and sinks, and the sessions of that test.
///
/// With this object the sessions that still have tasks are invalidated, and the folder is removed.
final class Sandbox: Sendable {
    private struct MadeSession {
        weak var session: URLSession?
    }

    let folder: URL
    private let sessions = Mutex<[MadeSession]>([])

    /// The folder of all sandboxes of this process, which is removed at its exit: a transfer that is still being
    /// cancelled when its sandbox is removed may make its folder again.
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Sandbox.root) }
        return FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-tests-\(ProcessInfo.processInfo.processIdentifier)")
    }()

    init() {
        folder = Self.root.appendingPathComponent(UUID().uuidString)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            Issue.record(error)
        }
    }

    deinit {
        for made in sessions.withLock({ $0 }) { made.session?.invalidateAndCancel() }
        try? FileManager.default.removeItem(at: folder)
    }

    var partials: URL { folder.appendingPathComponent("partials") }

    /// The names of the partial files.
    var partialNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: partials.path)) ?? []).sorted()
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// A configuration with its partial files in this folder.
    func configuration(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.partialDownloadsDirectory = partials
        configuration.proxyVariables = [:]
        // On a busy machine a test may not run for long; its transfers must not time out meanwhile.
        configuration.timeoutIntervalForRequest = 250
        change(configuration)
        return configuration
    }

    /// A session with its partial files in this folder.
    func session(
        _ delegate: (any URLSessionDelegate)? = nil, queue: OperationQueue? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        session(of: configuration(change), delegate, queue: queue)
    }

    /// A session that is invalidated with this object.
    func session(
        of configuration: URLSessionConfiguration, _ delegate: (any URLSessionDelegate)? = nil,
        queue: OperationQueue? = nil
    ) -> URLSession {
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
        sessions.withLock { $0.append(MadeSession(session: session)) }
        return session
    }
}
