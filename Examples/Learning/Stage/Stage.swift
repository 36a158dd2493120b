import Foundation
import Purl
import PurlTesting
import Synchronization

/// Where a scene is played: a server in memory, a clock that is turned by hand, a trace and a folder.
///
/// Nothing in it depends on the machine: the same scene makes the same trace in every run.
@MainActor
final class Stage {
    let server: LoopbackServer
    let clock = ManualClock()
    let trace: TransferTrace
    /// A folder for the scene, until the stage is cleared.
    let folder: URL
    private let printed = Mutex<[String]>([])

    init() throws {
        server = try LoopbackServer(.memory, port: 8080)
        var options = TransferTrace.Options()
        options.startDate = Date(timeIntervalSince1970: 0)
        trace = TransferTrace(options: options)
        folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-learning-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// Removes the scene's folder.
    func clear() { try? FileManager.default.removeItem(at: folder) }

    /// What a program would get from `URLSessionConfiguration.ephemeral`, on this stage.
    var configuration: URLSessionConfiguration { onStage(.ephemeral) }

    /// Sets what makes a configuration's sessions part of the scene.
    func onStage(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        configuration.connectionProxyDictionary = [:]
        configuration.connector = server.connector
        configuration.clock = clock
        configuration.trace = trace
        return configuration
    }

    /// Adds a line to what the scene prints. From any thread.
    nonisolated func print(_ line: String) { printed.withLock { $0.append(line) } }

    /// What the scene's program has printed.
    var lines: [String] { printed.withLock { $0 } }

    /// Turns the clock. Wait for what is to happen before, and the times of all events are the same in every run.
    func turnClock(by duration: Duration) { clock.advance(by: duration) }

    /// Returns when `count` events of the trace satisfy a condition. To look at the trace makes no event.
    func waitFor(_ count: Int = 1, _ condition: (TransferTrace.Event) -> Bool) async {
        while trace.events.count(where: condition) < count { await Self.pause() }
    }

    /// Leaves the processor to the threads that are waited for: a scene that only yielded would take it from them.
    static func pause() async { try? await Task.sleep(for: .milliseconds(1)) }

    /// Returns when a method of delegates has returned `count` times, of all tasks together.
    func waitFor(_ method: TransferTrace.DelegateMethod, times count: Int = 1) async {
        await waitFor(count) { event in
            if case .ended(let call) = event.kind { call.method == method } else { false }
        }
    }

    /// Returns when something has happened to a task `count` times.
    func waitFor(_ kind: TransferTrace.Kind, times count: Int = 1) async {
        await waitFor(count) { $0.kind == kind }
    }

    /// Returns when the scene's program has printed a line `count` times.
    func waitFor(line: String, times count: Int = 1) async {
        while lines.count(where: { $0 == line }) < count { await Self.pause() }
    }
}
