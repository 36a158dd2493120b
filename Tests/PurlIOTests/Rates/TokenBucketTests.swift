import Testing

@testable import PurlIO

@Suite("A token bucket grants bytes at its rate, and no more at once than it holds")
struct TokenBucketTests {
    private static func instant(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    @Test(
        arguments: [
            (1, 2, 1), (16, 2, 1), (48, 3, 1), (64, 4, 1), (1_000, 62, 15), (64_000, 4_000, 1_000),
            (1 << 20, 1 << 16, 1 << 14), (1 << 36, 1 << 32, 1 << 30), (Int.max, 1 << 32, 1 << 30), (0, 2, 1),
            (Int.min, 2, 1),
        ] as [(Int, Int, Int)])
    func itHoldsASixteenthOfASecondAndAPortionIsAQuarterOfThat(rate: Int, capacity: Int, portion: Int) {
        let bucket = TokenBucket(rate: rate, at: Self.instant(0))
        #expect(bucket.capacity == capacity)
        #expect(bucket.portion == portion)
    }

    /// What happens at a millisecond of the test's clock.
    enum Step {
        case finds(Int)
        case takes(Int)
        /// Until a portion is there, in nanoseconds.
        case waits(Int64)
    }

    @Test(
        arguments: [
            [(0, .finds(4_000)), (0, .waits(0)), (0, .takes(4_000)), (0, .finds(0)), (0, .waits(15_625_000))],
            // A millisecond is 64 bytes.
            [(0, .takes(4_000)), (1, .finds(64)), (1, .waits(14_625_000)), (10, .finds(640)), (10, .finds(640))],
            // A pause fills the bucket and no more.
            [(0, .takes(4_000)), (62, .finds(3_968)), (63, .finds(4_000)), (100_000, .finds(4_000))],
            [(0, .takes(1_000)), (0, .finds(3_000)), (10, .finds(3_640)), (10, .takes(3_640)), (20, .finds(640))],
            // More than there is cannot be taken, nor owed.
            [(0, .takes(5_000)), (0, .finds(0)), (10, .finds(640)), (10, .takes(.max)), (10, .finds(0))],
            // A clock that was set back neither adds nor removes bytes.
            [
                (50, .finds(4_000)), (50, .takes(4_000)), (40, .finds(0)), (50, .finds(0)), (51, .finds(64)),
                (0, .finds(64)),
                (52, .finds(128)),
            ],
        ] as [[(Int64, Step)]])
    func aBucketOf64000BytesASecondFillsStepByStep(steps: [(Int64, Step)]) {
        var bucket = TokenBucket(rate: 64_000, at: Self.instant(0))
        for (at, step) in steps {
            switch step {
            case .finds(let count): #expect(bucket.available(at: Self.instant(at)) == count)
            case .takes(let count): bucket.take(count)
            case .waits(let nanoseconds): #expect(bucket.wait(at: Self.instant(at)) == .nanoseconds(nanoseconds))
            }
        }
    }

    @Test(arguments: [1, 3, 7, 1_000, 999_999])
    func fractionsOfAByteAreNotLost(rate: Int) {
        var bucket = TokenBucket(rate: rate, at: Self.instant(0))
        bucket.take(bucket.capacity)
        var sum = 0
        // So often that nothing is lost because the bucket is full.
        for step in 1...100_000 {
            let count = bucket.available(at: MonotonicTime(nanoseconds: Int64(step) * 100_000))
            bucket.take(count)
            sum += count
        }
        #expect(sum == rate * 10)
    }

    @Test(arguments: [20_000, 1 << 20, 1 << 36])
    func noSecondHasMoreThanATenthTooManyAndTenSecondsHaveNoneTooFew(rate: Int) {
        var bucket = TokenBucket(rate: rate, at: Self.instant(0))
        // After a pause of a second, all there is is taken every 20 ms.
        var moves: [(at: Int64, count: Int)] = []
        for at in stride(from: Int64(1_000), through: 11_000, by: 20) {
            let count = bucket.available(at: Self.instant(at))
            bucket.take(count)
            moves.append((at, count))
        }
        for start in moves.indices {
            let second = moves[start...].prefix { $0.at < moves[start].at + 1_000 }.reduce(0) { $0 + $1.count }
            #expect(second <= rate + rate / 10)
        }
        #expect(moves.reduce(0) { $0 + $1.count } == bucket.capacity + rate * 10)
    }

    @Test(arguments: [1, 3, 1_000, 1 << 20])
    func theWaitForAPortionIsExact(rate: Int) {
        var bucket = TokenBucket(rate: rate, at: Self.instant(0))
        bucket.take(bucket.capacity)
        let wait = bucket.wait(at: Self.instant(0))
        var early = bucket
        #expect(early.available(at: Self.instant(0) + (wait - .nanoseconds(1))) < bucket.portion)
        #expect(bucket.available(at: Self.instant(0) + wait) == bucket.portion)
    }

    @Test func theFirstAndLastInstantOfTheClockAreValid() {
        var bucket = TokenBucket(rate: .max, at: MonotonicTime(nanoseconds: .min))
        bucket.take(.max)
        #expect(bucket.available(at: MonotonicTime(nanoseconds: .max)) == bucket.capacity)
        #expect(bucket.available(at: MonotonicTime(nanoseconds: .min)) == bucket.capacity)
    }
}
