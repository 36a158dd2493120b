import Foundation

/// Plays a story and exits.
///
/// The main thread runs the main run loop meanwhile, so that delegates can be called on the main queue.
public func play(_ story: @escaping @MainActor @Sendable () async throws -> Void) -> Never {
    // A story takes a second or two. A hanging one is ended by the system.
    alarm(50)
    // Writing to a child that has ended throws an error instead of raising a signal.
    signal(SIGPIPE, SIG_IGN)
    Task { @MainActor in
        do {
            try await story()
            exit(0)
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("\(error)\n".utf8))
            exit(1)
        }
    }
    runMainQueue()
}

/// Runs the main queue until the program exits. An application does this by itself; in a command-line program no delegate on
/// the main queue is called without it.
public func runMainQueue() -> Never {
    while true { RunLoop.main.run(until: .distantFuture) }
}

/// A temporary folder for a story.
public struct StoryFolder: Sendable {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-example-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    public func remove() { try? FileManager.default.removeItem(at: url) }

    /// The names of the files in it, in order.
    public var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
    }
}
