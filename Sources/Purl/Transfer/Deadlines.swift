import Foundation
internal import PurlConnections
internal import PurlIO

/// The times at which a transfer begins, dials again, or has used up its time.
///
/// `timeoutIntervalForRequest` limits how long nothing arrives while something is expected of the network;
/// `timeoutIntervalForResource` limits the whole transfer. Progress does not move the timer: it looks at the time of the
/// last progress when it fires.
@NetworkActor
final class Deadlines {
    /// What a transfer expects of the network.
    enum Expectation {
        /// Nothing: the user, the pool, the disk or the session's own limit is in the way.
        case nothing
        /// Progress, at the latest one request time-out after the last one.
        case progress
        /// Progress, since this moment at the earliest.
        case progressSince(MonotonicTime)
    }

    /// The transfer that the deadlines end, until they stop.
    private var transfer: Transfer?
    private let session: URLSession
    private let clock: SessionClock
    private var lastProgress: MonotonicTime
    /// When all of `timeoutIntervalForResource` is used; set once the transfer has begun.
    private var end: MonotonicTime?
    /// Fires at the earliest moment at which a limit can be used up.
    private var watch: (timer: SessionTimer, due: MonotonicTime)?
    /// Fires when the task's date to begin at may have come.
    private var delay: SessionTimer?
    /// Fires when dialling is tried again, or the next request follows.
    private var redial: SessionTimer?
    private var redials = 0
    /// `nil` where the session allows any rate.
    private let rateFloor: RateFloor?

    init(_ session: URLSession) {
        self.session = session
        clock = session.settings.clock
        rateFloor = session.settings.limits.lowestRate.map { RateFloor($0, clock: session.settings.clock) }
        lastProgress = clock.now
    }

    /// Connects the deadlines with the transfer that they end.
    func attach(to transfer: Transfer) {
        self.transfer = transfer
    }

    // MARK: The date to begin at

    /// Whether the transfer waits for its date.
    var isDelayed: Bool { delay != nil }

    /// Runs `action` when `date` may have come. The calendar's clock can be set, so the date is compared with it at least
    /// once a minute.
    func wait(for date: Date, _ action: @escaping @Sendable @NetworkActor () -> Void) {
        let seconds = min(date.timeIntervalSince(.current), 60)
        delay = SessionClock.system.schedule(after: .milliseconds(Int64((seconds * 1000).rounded(.up))), action)
    }

    /// Cancels the timer for the date to begin at.
    func stopWaiting() {
        delay?.cancel()
        delay = nil
    }

    // MARK: Connectivity

    /// Whether `redial` has never been called.
    var hasNeverRedialled: Bool { redials == 0 }

    /// Runs `action` after the next of the delays between attempts to connect.
    func redial(_ action: @escaping @Sendable @NetworkActor () -> Void) {
        redials += 1
        pause(for: Self.redialDelay(after: redials - 1), action)
    }

    /// Runs `action` after a delay.
    func pause(for delay: Duration, _ action: @escaping @Sendable @NetworkActor () -> Void) {
        redial = clock.schedule(after: delay) { [self] in
            redial = nil
            action()
        }
    }

    func stopRedialling() {
        redial?.cancel()
        redial = nil
    }

    /// 1, 2, 4, 8, 16, then always 30 seconds.
    nonisolated static func redialDelay(after redials: Int) -> Duration {
        redials < 5 ? .seconds(1 << redials) : .seconds(30)
    }

    // MARK: Time-outs

    /// The transfer begins: `timeoutIntervalForResource` runs from now on.
    func begin(_ request: URLRequest) {
        end = clock.now + Self.duration(session.settings.timeoutIntervalForResource)
        watchProgress(of: request)
        if let transfer { rateFloor?.start(transfer) }
    }

    /// Starts to watch for progress.
    func watchProgress(of request: URLRequest) {
        markProgress()
        let limit = Self.duration(progressLimit(of: request))
        // One request may have a shorter limit than the one before.
        if let watch, watch.due <= lastProgress + limit { return }
        watch?.timer.cancel()
        startWatch(after: limit)
    }

    /// Bytes were moved, or something else happened that counts as progress.
    func markProgress() {
        lastProgress = clock.now
    }

    /// The request's own time-out in seconds, or the session's where it has none.
    func progressLimit(of request: URLRequest) -> TimeInterval {
        request.timeoutInterval == URLRequest.defaultTimeoutInterval
            ? session.settings.timeoutIntervalForRequest : request.timeoutInterval
    }

    /// How long a connection for a request that is dialled now may take; `nil` without a limit, and where a test's clock
    /// measures it.
    func dialLimit(of request: URLRequest) -> Duration? {
        guard clock.custom == nil else { return nil }
        var limit = Self.duration(progressLimit(of: request))
        if let end { limit = min(limit, end - clock.now) }
        return limit < Self.noLimit ? limit : nil
    }

    private func startWatch(after delay: Duration) {
        let now = clock.now
        var delay = delay
        if let end { delay = min(delay, end - now) }
        watch = (clock.schedule(after: delay) { [self] in check() }, now + delay)
    }

    private func check() {
        guard let transfer else { return }
        let now = clock.now
        if let end, end <= now {
            return transfer.fail(.tookTooLong(seconds: session.settings.timeoutIntervalForResource))
        }
        switch transfer.expectation {
        case .nothing: markProgress()
        case .progress: break
        case .progressSince(let start): lastProgress = max(lastProgress, start)
        }
        let limit = progressLimit(of: transfer.request)
        let deadline = lastProgress + Self.duration(limit)
        guard deadline <= now else { return startWatch(after: deadline - now) }
        // First, so that the request that is sent again, and may fail at once, is watched like any other.
        startWatch(after: Self.duration(limit))
        if !transfer.repeatsRequest() { transfer.fail(.stalled(seconds: limit)) }
    }

    /// Cancels all timers; the transfer is over.
    func stop() {
        stopWaiting()
        stopRedialling()
        watch?.timer.cancel()
        watch = nil
        rateFloor?.stop()
        transfer = nil
    }

    /// Seconds as users give them, which may be anything: infinite, not a number, or zero and less for "no limit".
    nonisolated static func duration(_ seconds: TimeInterval) -> Duration {
        guard seconds > 0, seconds < 1_000_000_000 else { return noLimit }
        return .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }

    private nonisolated static let noLimit = Duration.seconds(1_000_000_000)
}
