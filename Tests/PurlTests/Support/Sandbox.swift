import Foundation
import Purl

/// A temporary folder of one test, for partial downloads and sinks, which is removed with this object.
final class Sandbox: Sendable {
    let folder: URL

    /// The folder of all sandboxes of this process, which is removed at its exit: a transfer that is still being
    /// cancelled when its sandbox is removed may make its folder again.
    private static let root: URL = {
        atexit { try? FileManager.default.removeItem(at: Sandbox.root) }
        return FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-tests-\(ProcessInfo.processInfo.processIdentifier)")
    }()

    init() throws {
        folder = Self.root.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
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
        URLSession(configuration: configuration(change), delegate: delegate, delegateQueue: queue)
    }
}
