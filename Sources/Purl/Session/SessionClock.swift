internal import PurlIO

/// The time by which a session measures its time-outs: the loop's own, or that of a clock of the user's.
enum SessionClock: Sendable {
    case system
    case custom(CustomClock)

    var custom: CustomClock? {
        switch self {
        case .system: nil
        case .custom(let clock): clock
        }
    }

    /// What time it is; for the loop's, the moment at which its turn began.
    @NetworkActor var now: MonotonicTime {
        switch self {
        case .system: EventLoop.shared.now
        case .custom(let clock): clock.now
        }
    }

    /// Runs `action` once, `delay` from now, never within this call. Nobody has to keep the timer.
    @NetworkActor
    func schedule(after delay: Duration, _ action: @escaping @Sendable @NetworkActor () -> Void) -> SessionTimer {
        switch self {
        case .system: .loop(EventLoop.shared.schedule(after: delay, action))
        case .custom(let clock): .clock(clock.schedule(after: delay, action))
        }
    }
}

/// One action of a session in the future.
@NetworkActor
enum SessionTimer {
    case loop(LoopTimer)
    case clock(ClockTimer)

    /// The action will not run any more.
    func cancel() {
        switch self {
        case .loop(let timer): timer.cancel()
        case .clock(let timer): timer.cancel()
        }
    }
}
