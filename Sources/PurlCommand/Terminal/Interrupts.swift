import Dispatch
import Foundation
import Synchronization

/// Ctrl-C (`SIGINT`) and `SIGTERM`, turned into a call. A second one ends the process at once.
final class Interrupts: Sendable {
    private struct State {
        var first: ContinuousClock.Instant?
        var action: (@Sendable () -> Void)?
    }

    /// Programs that pass signals on, `timeout` for one, send one to the process and the same to its group: what
    /// follows this quickly is no second wish.
    private static let echoInterval = Duration.milliseconds(200)

    private let state = Mutex(State())
    private let console: Console

    /// Listens from now on.
    ///
    /// - Parameter console: Where a drawn line is taken away before the process ends.
    init(_ console: Console) {
        self.console = console
        let queue = DispatchQueue(label: "purl.interrupts")
        for number in [SIGINT, SIGTERM] {
            // Otherwise the signal would end the process before the source sees it.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The handler keeps the source, and so it listens for as long as the process lives.
            source.setEventHandler { withExtendedLifetime(source) { self.arrived() } }
            source.resume()
        }
    }

    /// Whether somebody asked to stop.
    var isInterrupted: Bool { state.withLock { $0.first != nil } }

    /// What the first interruption does, at once if it has come already. On a queue of its own.
    func onInterrupt(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.action = action
            return state.first != nil
        }
        if isLate { action() }
    }

    private func arrived() {
        let now = ContinuousClock.now
        let (first, action) = state.withLock { state in
            defer { state.first = state.first ?? now }
            return (state.first, state.action)
        }
        guard let first else {
            action?()
            return
        }
        guard now - first > Self.echoInterval else { return }
        console.erase()
        _exit(ExitCode.interrupted.rawValue)
    }
}
