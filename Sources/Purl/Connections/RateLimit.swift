internal import PurlIO

/// What a session's connections may receive, or send, in a second, all together.
///
/// A connection asks before it moves bytes. When the bucket is empty it gets into a line and hears when it is its turn;
/// a turn is a portion, and whoever wants another stands at the end of the line again. So each gets as much as the
/// others, however fast its server is.
@NetworkActor
final class RateLimit {
    /// Made at the first question: sessions are made on any thread.
    private var bucket: TokenBucket?
    private var line = Queue<RateShare>()
    private var isAwake = false
    private let rate: Int
    private let clock: any RateClock

    /// - Parameter rate: Bytes a second.
    nonisolated init(rate: Int, clock: any RateClock) {
        self.rate = rate
        self.clock = clock
    }

    /// How many bytes may be moved now; 0: it is not the share's turn, and it has to stand in line.
    fileprivate func allowance() -> Int {
        guard line.isEmpty else { return 0 }
        return withBucket { bucket, now in
            let available = bucket.available(at: now)
            return available < bucket.portion ? 0 : available
        }
    }

    fileprivate func append(_ share: RateShare) {
        line.append(share)
        if !isAwake { wakeForNextTurn() }
    }

    fileprivate func take(_ count: Int) {
        bucket?.take(count)
    }

    private func wakeForNextTurn() {
        isAwake = true
        clock.wake(after: withBucket { $0.wait(at: $1) }) { [weak self] in self?.serve() }
    }

    /// Gives turns for as long as there is something to give.
    private func serve() {
        while let share = line.first {
            let portion = withBucket { bucket, now in bucket.available(at: now) < bucket.portion ? 0 : bucket.portion }
            guard portion > 0 else { return wakeForNextTurn() }
            line.removeFirst()
            share.take(turn: portion)
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
final class RateShare {
    /// It has to wait, and will hear when it need not any longer.
    private(set) var isInLine = false
    /// Of what it was allowed last it has left nothing.
    var hasUsedTurn: Bool { rest == 0 }

    private var rest = 0
    private let limit: RateLimit
    private let onTurn: (Int) -> Void

    /// - Parameter onTurn: It is the connection's turn, with that many bytes. What it does not use is for the next.
    init(of limit: RateLimit, onTurn: @escaping (Int) -> Void) {
        self.limit = limit
        self.onTurn = onTurn
    }

    /// How many bytes may be moved now; 0: when it can be more, the turn comes.
    func ask() -> Int {
        guard !isInLine else { return 0 }
        let allowance = limit.allowance()
        rest = allowance
        if allowance == 0 {
            isInLine = true
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
        isInLine = false
        rest = turn
        onTurn(turn)
    }
}
