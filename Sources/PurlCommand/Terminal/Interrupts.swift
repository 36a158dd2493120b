import Dispatch
import Foundation
import Synchronization

/// Turns Ctrl-C (`SIGINT`), `SIGTERM` and the end of the terminal (`SIGHUP`) into a call. A second signal ends the process at once.
final class Interrupts: Sendable {
    private struct State {
        var first: ContinuousClock.Instant?
        var action: (@Sendable () -> Void)?
    }

    /// Programs that forward signals, such as `timeout`, signal the process and its group: a signal that follows this quickly
    /// is a copy of the first.
    private static let echoInterval = Duration.milliseconds(200)

    private let state = Mutex(State())
    private let console: Console

    /// Handles signals from its return on.
    ///
    /// - Parameter console: Its block is removed before the process ends.
    init(_ console: Console) {
        self.console = console
        let queue = DispatchQueue(label: "purl.interrupts")
        let registrations = DispatchGroup()
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let former = signal(number, SIG_IGN)
            // `nohup` has the process ignore it.
            if number == SIGHUP, unsafeBitCast(former, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                continue
            }
            #if !canImport(Darwin)
                // Here the source brings a handler. A signal that comes before it ends the process, and is not lost. On Darwin
                // it would end the process in spite of the source.
                signal(number, former)
            #endif
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            // The handler retains the source, so it stays active until the process ends.
            source.setEventHandler { withExtendedLifetime(source) { self.signalArrived() } }
            registrations.enter()
            source.setRegistrationHandler { registrations.leave() }
            source.resume()
        }
        registrations.wait()
    }

    /// Runs what the first signal cancels.
    ///
    /// The signals are handled before it begins: one that came in between would end the process in the middle of it.
    static func cancelling<Value: Sendable>(
        _ console: Console, _ operation: sending @escaping () async -> Value
    ) async -> Value {
        let interrupts = Interrupts(console)
        let task = Task(operation: operation)
        interrupts.onInterrupt { task.cancel() }
        return await task.value
    }

    /// Whether a signal has arrived.
    var isInterrupted: Bool { state.withLock { $0.first != nil } }

    /// Calls `action` on the first signal, at once if it has arrived already. On a private queue.
    func onInterrupt(_ action: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            state.action = action
            return state.first != nil
        }
        if isLate { action() }
    }

    private func signalArrived() {
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
