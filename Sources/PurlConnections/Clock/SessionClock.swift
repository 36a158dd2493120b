package import PurlIO
import Synchronization

/// The clock of a session's time-outs: the loop's, or a clock of the program's own.
package enum SessionClock: Sendable {
    case system
    case custom(CustomClock)

    /// A clock of the program's own; `nil` for the loop's.
    package init(_ clock: (any Clock<Duration>)?) {
        self = clock.map { .custom(CustomClock($0)) } ?? .system
    }

    package var custom: CustomClock? {
        switch self {
        case .system: nil
        case .custom(let clock): clock
        }
    }

    /// The current time; the loop's clock stands at the beginning of its turn.
    @NetworkActor package var now: MonotonicTime {
        switch self {
        case .system: EventLoop.shared.now
        case .custom(let clock): clock.now
        }
    }

    /// Runs `action` once, `delay` from now, never within this call. The timer need not be kept.
    @NetworkActor
    package func schedule(after delay: Duration, _ action: @escaping @Sendable @NetworkActor () -> Void) -> SessionTimer
    {
        switch self {
        case .system: .loop(EventLoop.shared.schedule(after: delay, action))
        case .custom(let clock): .clock(clock.schedule(after: delay, action))
        }
    }
}

/// A scheduled action of a session.
@NetworkActor
package enum SessionTimer {
    case loop(LoopTimer)
    case clock(ClockTimer)

    /// Drops the action.
    package func cancel() {
        switch self {
        case .loop(let timer): timer.cancel()
        case .clock(let timer): timer.cancel()
        }
    }
}

/// A clock of the program's own, with times of the loop's clock.
///
/// An object, so that a `SessionClock` is one pointer: every recorded event reads one.
package final class CustomClock: Sendable {
    package let clock: any Clock<Duration>
    private let read: @Sendable () -> MonotonicTime
    private let sleep: @Sendable (Duration) -> @Sendable () async throws -> Void

    package convenience init(_ clock: any Clock<Duration>) {
        self.init(opening: clock)
    }

    private init(opening clock: some Clock<Duration>) {
        self.clock = clock
        let (start, loopStart) = ClockOrigins.shared.origin(of: clock)
        read = { loopStart + start.duration(to: clock.now) }
        sleep = { delay in
            // Computed now: the task that sleeps may begin late.
            let deadline = clock.now.advanced(by: max(delay, .zero))
            return { try await clock.sleep(until: deadline, tolerance: nil) }
        }
    }

    package var now: MonotonicTime { read() }

    /// Runs `action` on the network thread once the clock has advanced by `delay`.
    @NetworkActor
    package func schedule(after delay: Duration, _ action: @escaping @Sendable @NetworkActor () -> Void) -> ClockTimer {
        ClockTimer(sleep: sleep(delay), action: action)
    }
}

/// From when on the times of a clock and of the loop's correspond.
///
/// A clock that is an object has one origin, however many configurations it is set in, so that their sessions' times can be
/// compared: a trace of several sessions puts them in order.
private final class ClockOrigins: Sendable {
    private struct Origin {
        weak var clock: (any Clock & AnyObject)?
        let start: any InstantProtocol & Sendable
        let loopStart: MonotonicTime
    }

    static let shared = ClockOrigins()

    private let origins = Mutex<[ObjectIdentifier: Origin]>([:])

    func origin<C: Clock>(of clock: C) -> (start: C.Instant, loopStart: MonotonicTime) {
        guard C.self is AnyClass, let object = clock as? any Clock & AnyObject else { return (clock.now, .current) }
        return origins.withLock { origins in
            // An identifier is used again when its object is gone.
            if let origin = origins[ObjectIdentifier(object)], origin.clock != nil,
                let start = origin.start as? C.Instant
            {
                return (start, origin.loopStart)
            }
            origins = origins.filter { $0.value.clock != nil }
            let (start, loopStart) = (clock.now, MonotonicTime.current)
            origins[ObjectIdentifier(object)] = Origin(clock: object, start: start, loopStart: loopStart)
            return (start, loopStart)
        }
    }
}

/// A task that sleeps on a clock of the program's own and then acts, unless it is cancelled first.
@NetworkActor
package final class ClockTimer {
    private var action: (@Sendable @NetworkActor () -> Void)?
    private var sleeper: Task<Void, Never>?

    fileprivate init(
        sleep: @escaping @Sendable () async throws -> Void, action: @escaping @Sendable @NetworkActor () -> Void
    ) {
        self.action = action
        sleeper = Task.detached {
            guard (try? await TimerSleep.$isCurrent.withValue(true, operation: sleep)) != nil else { return }
            await self.fire()
        }
    }

    package func cancel() {
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
