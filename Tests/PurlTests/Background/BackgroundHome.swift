import Foundation
import Purl

/// A folder in which background sessions keep theirs, and what a process that was killed leaves of it.
struct BackgroundHome {
    static let identifier = "com.example.downloads"

    let sandbox: Sandbox
    let folder: URL

    init(in sandbox: Sandbox, named name: String = "home") {
        self.sandbox = sandbox
        folder = sandbox.file(name)
    }

    init() throws {
        self.init(in: try Sandbox())
    }

    /// The session's own folder.
    var session: URL { folder.appendingPathComponent(Self.identifier) }
    var journal: URL { session.appendingPathComponent("tasks.v1.journal") }
    var partials: URL { session.appendingPathComponent("Partials") }

    var partialNames: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: partials.path)) ?? []).sorted()
    }

    func configuration(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.background(withIdentifier: Self.identifier)
        configuration.backgroundSessionsDirectory = folder
        change(configuration)
        return configuration
    }

    func makeSession(
        _ delegate: (any URLSessionDelegate)? = nil, _ change: (URLSessionConfiguration) -> Void = { _ in }
    ) -> URLSession {
        URLSession(configuration: configuration(change), delegate: delegate, delegateQueue: nil)
    }

    /// What would be there if the process were killed now: the journal first, so that the files hold what it speaks of.
    func afterCrash(named name: String = "after") throws -> BackgroundHome {
        let copy = BackgroundHome(in: sandbox, named: name)
        let manager = FileManager.default
        try manager.createDirectory(at: copy.session, withIntermediateDirectories: true)
        try manager.copyItem(at: journal, to: copy.journal)
        if manager.fileExists(atPath: partials.path) { try manager.copyItem(at: partials, to: copy.partials) }
        return copy
    }
}
