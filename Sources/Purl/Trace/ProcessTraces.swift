internal import PurlIO
import Synchronization

/// The traces of a simulated process: each configuration that it makes has one, so that its calls can be watched.
package final class ProcessTraces: Sendable {
    private static let ofProcess = ProcessLocal { ProcessTraces() }

    private let traces = Mutex<[TransferTrace]>([])

    private init() {}

    /// A new trace; `nil` outside a simulation.
    static func makeTrace() -> TransferTrace? {
        guard Simulated.machine != nil else { return nil }
        let trace = TransferTrace()
        ofProcess.current.traces.withLock { $0.append(trace) }
        return trace
    }

    /// The traces of the process that is running, oldest first.
    package static var all: [TransferTrace] { ofProcess.current.traces.withLock { $0 } }
}
