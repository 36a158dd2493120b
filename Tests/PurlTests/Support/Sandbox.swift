import Foundation
import Purl

/// A folder of one test's own, for partial downloads and sinks; removed with the value.
final class Sandbox: Sendable {
    let folder: URL

    /// The folder of all sandboxes, removed when the process ends: a session that outlives its test may make a folder again
    /// that the test has removed.
    private static let common: URL = {
        atexit { try? FileManager.default.removeItem(at: Sandbox.common) }
        return FileManager.default.temporaryDirectory.appendingPathComponent("purl-tests-\(getpid())")
    }()

    init() throws {
        folder = Self.common.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    var partials: URL { folder.appendingPathComponent("partials") }

    /// The names of the partial files that lie about.
    var partialNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: partials.path)) ?? []).sorted()
    }

    func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

    /// A configuration whose partial files lie here.
    func configuration(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.partialDownloadsDirectory = partials
        // On a busy machine a test waits long for its next turn, and that is not what its transfers are to fail of.
        configuration.timeoutIntervalForRequest = 250
        change(configuration)
        return configuration
    }

    /// A session whose partial files lie here.
    func session(
        _ delegate: (any URLSessionDelegate)? = nil, queue: OperationQueue? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession(configuration: configuration(change), delegate: delegate, delegateQueue: queue)
    }
}
