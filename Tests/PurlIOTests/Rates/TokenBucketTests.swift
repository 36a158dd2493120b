import Testing

@testable import PurlIO

@Suite("A bucket lets go as many bytes as the rate says, and no more than it holds at once")
struct TokenBucketTests {
    private static func moment(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    @Test(
        "It holds a sixteenth of a second's bytes, and a quarter of that is worth moving",
        arguments: [
            (1, 2, 1), (16, 2, 1), (48, 3, 1), (64, 4, 1), (1_000, 62, 15), (64_000, 4_000, 1_000),
            (1 << 20, 1 << 16, 1 << 14), (1 << 36, 1 << 32, 1 << 30), (Int.max, 1 << 32, 1 << 30), (0, 2, 1),
            (Int.min, 2, 1),
        ] as [(Int, Int, Int)])
    func sizes(rate: Int, capacity: Int, portion: Int) {
        let bucket = TokenBucket(rate: rate, at: Self.moment(0))
        #expect(bucket.capacity == capacity)
        #expect(bucket.portion == portion)
    }

    /// What happens at a millisecond of the hand-made clock.
    enum Step {
        case finds(Int)
        case takes(Int)
        /// Until a portion is there, in nanoseconds.
        case waits(Int64)
    }

    @Test(
        "64,000 bytes a second, step by step",
        arguments: [
            [(0, .finds(4_000)), (0, .waits(0)), (0, .takes(4_000)), (0, .finds(0)), (0, .waits(15_625_000))],
            // A millisecond is 64 bytes.
            [(0, .takes(4_000)), (1, .finds(64)), (1, .waits(14_625_000)), (10, .finds(640)), (10, .finds(640))],
            // A pause fills the bucket and no more.
            [(0, .takes(4_000)), (62, .finds(3_968)), (63, .finds(4_000)), (100_000, .finds(4_000))],
            [(0, .takes(1_000)), (0, .finds(3_000)), (10, .finds(3_640)), (10, .takes(3_640)), (20, .finds(640))],
            // More than there is cannot be taken, nor owed.
            [(0, .takes(5_000)), (0, .finds(0)), (10, .finds(640)), (10, .takes(.max)), (10, .finds(0))],
            // A clock that goes backwards brings nothing and takes nothing.
            [
                (50, .finds(4_000)), (50, .takes(4_000)), (40, .finds(0)), (50, .finds(0)), (51, .finds(64)),
                (0, .finds(64)),
                (52, .finds(128)),
            ],
        ] as [[(Int64, Step)]])
    func table(steps: [(Int64, Step)]) {
        var bucket = TokenBucket(rate: 64_000, at: Self.moment(0))
        for (at, step) in steps {
            switch step {
            case .finds(let count): #expect(bucket.available(at: Self.moment(at)) == count)
            case .takes(let count): bucket.take(count)
            case .waits(let nanoseconds): #expect(bucket.wait(at: Self.moment(at)) == .nanoseconds(nanoseconds))
            }
        }
    }

    @Test("Parts of a byte are not lost", arguments: [1, 3, 7, 1_000, 999_999])
    func fractions(rate: Int) {
        var bucket = TokenBucket(rate: rate, at: Self.moment(0))
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

    @Test(
        "In no second do more than a tenth too many go, and over ten none too few",
        arguments: [20_000, 1 << 20, 1 << 36])
    func window(rate: Int) {
        var bucket = TokenBucket(rate: rate, at: Self.moment(0))
        // Who comes takes all there is, every twenty milliseconds, after a pause of a second.
        var moves: [(at: Int64, count: Int)] = []
        for at in stride(from: Int64(1_000), through: 11_000, by: 20) {
            let count = bucket.available(at: Self.moment(at))
            bucket.take(count)
            moves.append((at, count))
        }
        for start in moves.indices {
            let second = moves[start...].prefix { $0.at < moves[start].at + 1_000 }.reduce(0) { $0 + $1.count }
            #expect(second <= rate + rate / 10)
        }
        #expect(moves.reduce(0) { $0 + $1.count } == bucket.capacity + rate * 10)
    }

    @Test(
        "Waiting as long as it says brings a portion, and a nanosecond less does not",
        arguments: [1, 3, 1_000, 1 << 20])
    func waiting(rate: Int) {
        var bucket = TokenBucket(rate: rate, at: Self.moment(0))
        bucket.take(bucket.capacity)
        let wait = bucket.wait(at: Self.moment(0))
        var early = bucket
        #expect(early.available(at: Self.moment(0) + (wait - .nanoseconds(1))) < bucket.portion)
        #expect(bucket.available(at: Self.moment(0) + wait) == bucket.portion)
    }

    @Test("Moments at the ends of the clock do no harm")
    func extremes() {
        var bucket = TokenBucket(rate: .max, at: MonotonicTime(nanoseconds: .min))
        bucket.take(.max)
        #expect(bucket.available(at: MonotonicTime(nanoseconds: .max)) == bucket.capacity)
        #expect(bucket.available(at: MonotonicTime(nanoseconds: .min)) == bucket.capacity)
    }
}
