import Foundation
internal import PurlIO
import Synchronization

/// The traces of a simulated process: each session that it makes has one, so that its calls can be watched.
package final class ProcessTraces: Sendable {
    private static let ofProcess = ProcessLocal { ProcessTraces() }

    /// What a simulation sees of a task.
    package enum Sight {
        /// An event, as it is recorded: also one that has no room in the trace, and with secrets as they are.
        case event(TransferTrace.Kind)
        /// How many bytes of a body may wait for their consumer.
        case bufferLimit(Int)
        /// Content of a response that the delegate, a handler, a caller of an `async` method or a sequence of bytes is about
        /// to receive.
        case delivery(Data)
    }

    /// Sees what happens to tasks, with the number of the trace and the task's identifier.
    package typealias Watcher = @Sendable (_ trace: Int, _ task: Int?, _ sight: Sight) -> Void

    private struct State {
        var traces: [TransferTrace] = []
        var watcher: Watcher?

        mutating func add(_ watcher: TransferTrace.Watcher?, copiedTo program: TransferTrace?) -> TransferTrace {
            let trace = TransferTrace(
                options: program?.options ?? TransferTrace.Options(), watcher: watcher, copiedTo: program)
            traces.append(trace)
            return trace
        }
    }

    private let state = Mutex(State())

    private init() {}

    /// The trace of a new session: outside a simulation the one that its configuration has.
    ///
    /// - Parameter program: What the configuration has; `nil` for none.
    static func makeTrace(copiedTo program: TransferTrace?) -> TransferTrace? {
        guard Simulated.machine != nil else { return program }
        return ofProcess.current.state.withLock { state in
            let number = state.traces.count
            var watcher: TransferTrace.Watcher?
            if let watch = state.watcher { watcher = { task, sight in watch(number, task, sight) } }
            return state.add(watcher, copiedTo: program)
        }
    }

    /// The trace of one task of a session, whose watcher it has.
    static func makeTrace(_ watcher: @escaping TransferTrace.Watcher, copiedTo program: TransferTrace?) -> TransferTrace
    {
        ofProcess.current.state.withLock { $0.add(watcher, copiedTo: program) }
    }

    /// Has all traces watched that the process makes from now on.
    package static func watch(_ watcher: @escaping Watcher) {
        ofProcess.current.state.withLock { $0.watcher = watcher }
    }

    /// The traces of the process that is running, oldest first.
    package static var all: [TransferTrace] { ofProcess.current.state.withLock { $0.traces } }
}
