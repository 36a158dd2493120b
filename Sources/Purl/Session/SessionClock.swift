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

/// A clock of the user's, read as the loop's is.
struct CustomClock: Sendable {
    let clock: any Clock<Duration>
    private let read: @Sendable () -> MonotonicTime
    private let sleep: @Sendable (Duration) -> @Sendable () async throws -> Void

    init(_ clock: any Clock<Duration>) {
        self.init(opening: clock)
    }

    private init(opening clock: some Clock<Duration>) {
        self.clock = clock
        // The two run on side by side from here.
        let (start, loopStart) = (clock.now, MonotonicTime.current)
        read = { loopStart + start.duration(to: clock.now) }
        sleep = { delay in
            // Taken now: the task that sleeps may begin late.
            let deadline = clock.now.advanced(by: max(delay, .zero))
            return { try await clock.sleep(until: deadline, tolerance: nil) }
        }
    }

    var now: MonotonicTime { read() }

    /// Runs `action` on the network thread once the clock has moved on by `delay`.
    @NetworkActor
    func schedule(after delay: Duration, _ action: @escaping @Sendable @NetworkActor () -> Void) -> ClockTimer {
        ClockTimer(sleep: sleep(delay), action: action)
    }
}

/// A task that sleeps on a clock of the user's and then acts, unless it is cancelled first.
@NetworkActor
final class ClockTimer {
    private var action: (@Sendable @NetworkActor () -> Void)?
    private var sleeper: Task<Void, Never>?

    fileprivate init(
        sleep: @escaping @Sendable () async throws -> Void, action: @escaping @Sendable @NetworkActor () -> Void
    ) {
        self.action = action
        sleeper = Task.detached {
            guard (try? await sleep()) != nil else { return }
            await self.fire()
        }
    }

    func cancel() {
        action = nil
        sleeper?.cancel()
        sleeper = nil
    }

    private func fire() {
        let action = action
        self.action = nil
        sleeper = nil
        action?()
    }
}
