internal import PurlIO
import Synchronization

/// The traces of a simulated process: each configuration that it makes has one, so that its calls can be watched.
package final class ProcessTraces: Sendable {
    private static let ofProcess = ProcessLocal { ProcessTraces() }

    /// Sees every event as it is recorded, those that have no room in the trace included, with the trace's number and the
    /// task's, and secrets as they are.
    package typealias Watcher = @Sendable (_ trace: Int, _ task: Int?, _ kind: TransferTrace.Kind) -> Void

    private struct State {
        var traces: [TransferTrace] = []
        var watcher: Watcher?
    }

    private let state = Mutex(State())

    private init() {}

    /// A new trace; `nil` outside a simulation.
    static func makeTrace() -> TransferTrace? {
        guard Simulated.machine != nil else { return nil }
        return ofProcess.current.state.withLock { state in
            let number = state.traces.count
            var watcher: (@Sendable (Int?, TransferTrace.Kind) -> Void)?
            if let watch = state.watcher { watcher = { task, kind in watch(number, task, kind) } }
            let trace = TransferTrace(options: TransferTrace.Options(), watcher: watcher)
            state.traces.append(trace)
            return trace
        }
    }

    /// Has all traces watched that the process makes from now on.
    package static func watch(_ watcher: @escaping Watcher) {
        ofProcess.current.state.withLock { $0.watcher = watcher }
    }

    /// The traces of the process that is running, oldest first.
    package static var all: [TransferTrace] { ofProcess.current.state.withLock { $0.traces } }
}
