import Synchronization

/// What is known of an attempt, for the task that runs it and waits for its end.
///
/// The end may come before it is waited for, when that task was cancelled before.
final class PendingReport<Report: Sendable>: Sendable {
    private enum End {
        case awaited
        case waitedFor(CheckedContinuation<Report, Never>)
        case reached
    }

    private struct State {
        var report: Report
        var end = End.awaited
    }

    private let state: Mutex<State>

    init(_ report: Report) {
        state = Mutex(State(report: report))
    }

    /// Reads or changes what is known so far.
    func update<Result: Sendable>(_ change: (inout Report) -> Result) -> Result {
        state.withLock { change(&$0.report) }
    }

    /// The attempt has ended; the last change completes the report.
    func end(_ change: (inout Report) -> Void) {
        let (end, report) = state.withLock { state in
            change(&state.report)
            defer { state.end = .reached }
            return (state.end, state.report)
        }
        if case .waitedFor(let continuation) = end { continuation.resume(returning: report) }
    }

    /// Begins the attempt, unless it has ended already, and returns the report at its end.
    func wait(_ begin: () -> Void) async -> Report {
        await withCheckedContinuation { continuation in
            let report: Report? = state.withLock { state in
                if case .reached = state.end { return state.report }
                state.end = .waitedFor(continuation)
                return nil
            }
            if let report { continuation.resume(returning: report) } else { begin() }
        }
    }
}
