import PurlIO
import Testing

@testable import Purl
@testable import PurlConnections
@testable import SessionFixtures

@Suite("Requests for a rate limit's bytes are served in order, a portion each")
@NetworkActor
struct RateLimitTests {
    private static let rate = 64_000
    private static let capacity = 4_000
    private static let portion = 1_000

    private let clock = ManualRateClock()
    private let limit: RateLimit

    init() {
        limit = RateLimit(rate: Self.rate, clock: clock)
    }

    /// A consumer of bytes, which may ask for more after each portion.
    @NetworkActor
    private final class Consumer {
        private(set) var taken = 0
        private(set) var turns: [Int] = []
        var isGreedy: Bool
        var uses: Int
        private var member: RateLimitMember?

        /// - Parameter uses: How many bytes of a portion it can use.
        init(_ limit: RateLimit, isGreedy: Bool = true, uses: Int = .max) {
            self.isGreedy = isGreedy
            self.uses = uses
            member = RateLimitMember(of: limit) { [weak self] in self?.turn($0) }
        }

        var isQueued: Bool { member?.isQueued == true }

        @discardableResult
        func request() -> Int {
            let allowance = member?.ask() ?? 0
            if allowance > 0 { consume(allowance) }
            return allowance
        }

        private func turn(_ portion: Int) {
            turns.append(portion)
            consume(portion)
            if isGreedy { request() }
        }

        private func consume(_ allowance: Int) {
            member?.take(min(allowance, uses))
            taken += min(allowance, uses)
        }
    }

    @Test("The first request takes the available bytes, the next one its portion later")
    func firstAndNext() {
        let (first, second) = (Consumer(limit), Consumer(limit, isGreedy: false))
        #expect(first.request() == Self.capacity)
        #expect(!first.isQueued)
        #expect(second.request() == 0)
        #expect(second.isQueued)
        clock.advance(milliseconds: 15)
        #expect(second.taken == 0)
        clock.advance(milliseconds: 1)
        #expect(second.turns == [Self.portion])
        #expect(!second.isQueued)
    }

    @Test("Portions are given in the order of the requests")
    func order() {
        let takers = (0..<5).map { _ in Consumer(limit, isGreedy: false) }
        #expect(takers[0].request() == Self.capacity)
        for taker in takers { taker.request() }
        for count in 1...4 {
            clock.advance(milliseconds: 16)
            #expect(takers.map(\.turns.count) == takers.indices.map { $0 < count ? 1 : 0 })
            // Bytes are available, but not for a request that comes after waiting ones.
            #expect(Consumer(limit).request() == 0)
        }
    }

    @Test("Greedy requests receive equal shares, and together the rate", arguments: [1, 2, 7, 50])
    func fairness(count: Int) {
        let takers = (0..<count).map { _ in Consumer(limit) }
        for taker in takers { while taker.request() > 0 {} }
        #expect(takers.reduce(0) { $0 + $1.taken } == Self.capacity)
        clock.advance(milliseconds: 10_000)
        #expect(takers.reduce(0) { $0 + $1.taken } == Self.capacity + 10 * Self.rate)
        let turns = takers.map(\.turns.count)
        #expect((turns.max() ?? 0) - (turns.min() ?? 0) <= 1)
    }

    @Test("The unused rest of a portion is for the next request", arguments: [0, 1, 400])
    func unused(uses: Int) {
        let (first, modest, last) = (Consumer(limit), Consumer(limit, isGreedy: false, uses: uses), Consumer(limit))
        first.request()
        modest.request()
        last.request()
        clock.advance(milliseconds: 1_000)
        #expect(modest.taken == uses)
        #expect(first.taken + modest.taken + last.taken > Self.capacity + Self.rate - Self.portion)
        #expect(first.taken + modest.taken + last.taken <= Self.capacity + Self.rate)
    }

    @Test("A repeated request has one place in the queue")
    func onePlace() {
        let (first, second) = (Consumer(limit), Consumer(limit, isGreedy: false))
        first.request()
        for _ in 0..<5 { #expect(second.request() == 0) }
        clock.advance(milliseconds: 1_000)
        #expect(second.turns == [Self.portion])
    }

    @Test("A released request does not delay the others")
    func gone() {
        let (first, last) = (Consumer(limit), Consumer(limit, isGreedy: false))
        first.request()
        for _ in 0..<100 { _ = Consumer(limit).request() }
        last.request()
        clock.advance(milliseconds: 16)
        #expect(last.turns == [Self.portion])
    }
}
