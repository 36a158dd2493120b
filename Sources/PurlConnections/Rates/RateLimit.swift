package import PurlIO

/// The time by which bytes are counted out.
@NetworkActor
package protocol RateClock: Sendable {
    var now: MonotonicTime { get }

    /// Runs the action once, that long from now, and never within this call.
    func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void)
}

extension SessionClock: RateClock {
    package func wake(after delay: Duration, _ action: @escaping @NetworkActor () -> Void) {
        _ = schedule(after: delay, action)
    }
}

/// What a session's connections may receive, or send, in a second, all together.
///
/// A connection asks before it moves bytes. When the bucket is empty it joins the queue, and is called when its turn comes;
/// a turn is a portion, and for another the connection queues again. So each gets as much as the others, however fast
/// its server is.
@NetworkActor
package final class RateLimit {
    /// Made at the first question: sessions are made on any thread.
    private var bucket: TokenBucket?
    private var queue = Queue<RateLimitMember>()
    private var isAwake = false
    private let rate: Int
    private let clock: any RateClock

    /// - Parameter rate: Bytes a second.
    package nonisolated init(rate: Int, clock: any RateClock) {
        self.rate = rate
        self.clock = clock
    }

    /// How many bytes may be moved now; 0 when it is not the member's turn, and it has to queue.
    fileprivate func allowance() -> Int {
        guard queue.isEmpty else { return 0 }
        return withBucket { bucket, now in
            let available = bucket.available(at: now)
            return available < bucket.portion ? 0 : available
        }
    }

    fileprivate func append(_ member: RateLimitMember) {
        queue.append(member)
        if !isAwake { wakeForNextTurn() }
    }

    fileprivate func take(_ count: Int) {
        bucket?.take(count)
    }

    private func wakeForNextTurn() {
        isAwake = true
        clock.wake(after: withBucket { $0.wait(at: $1) }) { [weak self] in self?.serve() }
    }

    /// Gives turns as long as the bucket has portions.
    private func serve() {
        while let member = queue.first {
            let portion = withBucket { bucket, now in bucket.available(at: now) < bucket.portion ? 0 : bucket.portion }
            guard portion > 0 else { return wakeForNextTurn() }
            queue.removeFirst()
            member.take(turn: portion)
        }
        isAwake = false
    }

    private func withBucket<Result>(_ body: (inout TokenBucket, MonotonicTime) -> Result) -> Result {
        let now = clock.now
        var current = bucket ?? TokenBucket(rate: rate, at: now)
        defer { bucket = current }
        return body(&current, now)
    }
}

/// One connection's part in a limit.
@NetworkActor
final class RateLimitMember {
    /// It waits for its turn.
    private(set) var isQueued = false
    /// It has moved all that it was allowed last.
    var hasUsedTurn: Bool { rest == 0 }

    private var rest = 0
    private let limit: RateLimit
    private let onTurn: (Int) -> Void

    /// - Parameter onTurn: Called with the bytes that the connection may move when its turn comes. What it does not use is
    ///   for the next.
    init(of limit: RateLimit, onTurn: @escaping (Int) -> Void) {
        self.limit = limit
        self.onTurn = onTurn
    }

    /// How many bytes may be moved now. When there are none, the member queues for its turn.
    func ask() -> Int {
        guard !isQueued else { return 0 }
        let allowance = limit.allowance()
        rest = allowance
        if allowance == 0 {
            isQueued = true
            limit.append(self)
        }
        return allowance
    }

    /// That many bytes were moved.
    func take(_ count: Int) {
        limit.take(count)
        rest -= min(rest, count)
    }

    fileprivate func take(turn: Int) {
        isQueued = false
        rest = turn
        onTurn(turn)
    }
}
