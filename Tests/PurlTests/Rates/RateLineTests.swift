import PurlIO
import Testing

@testable import Purl

@Suite("Who wants bytes that are not there stands in line, and gets a portion when it is his turn")
@NetworkActor
struct RateLineTests {
    private static let rate = 64_000
    private static let capacity = 4_000
    private static let portion = 1_000

    private let clock = HandClock()
    private let limit: RateLimit

    init() {
        limit = RateLimit(rate: Self.rate, clock: clock)
    }

    /// Somebody who takes bytes, and wants more or not.
    @NetworkActor
    private final class Taker {
        private(set) var taken = 0
        private(set) var turns: [Int] = []
        var isGreedy: Bool
        var uses: Int
        private var share: RateShare?

        /// - Parameter uses: How many bytes of a turn it can use.
        init(_ limit: RateLimit, isGreedy: Bool = true, uses: Int = .max) {
            self.isGreedy = isGreedy
            self.uses = uses
            share = RateShare(of: limit) { [weak self] in self?.turn($0) }
        }

        var isInLine: Bool { share?.isInLine == true }

        @discardableResult
        func ask() -> Int {
            let allowance = share?.ask() ?? 0
            if allowance > 0 { take(allowance) }
            return allowance
        }

        private func turn(_ portion: Int) {
            turns.append(portion)
            take(portion)
            if isGreedy { ask() }
        }

        private func take(_ allowance: Int) {
            share?.take(min(allowance, uses))
            taken += min(allowance, uses)
        }
    }

    @Test("The first gets what there is, the next its portion later")
    func firstAndNext() {
        let (first, second) = (Taker(limit), Taker(limit, isGreedy: false))
        #expect(first.ask() == Self.capacity)
        #expect(!first.isInLine)
        #expect(second.ask() == 0)
        #expect(second.isInLine)
        clock.advance(milliseconds: 15)
        #expect(second.taken == 0)
        clock.advance(milliseconds: 1)
        #expect(second.turns == [Self.portion])
        #expect(!second.isInLine)
    }

    @Test("Turns come in the order of the line, which nobody jumps")
    func order() {
        let takers = (0..<5).map { _ in Taker(limit, isGreedy: false) }
        #expect(takers[0].ask() == Self.capacity)
        for taker in takers { taker.ask() }
        for count in 1...4 {
            clock.advance(milliseconds: 16)
            #expect(takers.map(\.turns.count) == takers.indices.map { $0 < count ? 1 : 0 })
            // There are bytes, but not for those who have not waited.
            #expect(Taker(limit).ask() == 0)
        }
    }

    @Test("Those who always want more get the same, and all of them together the rate", arguments: [1, 2, 7, 50])
    func fairness(count: Int) {
        let takers = (0..<count).map { _ in Taker(limit) }
        for taker in takers { while taker.ask() > 0 {} }
        #expect(takers.reduce(0) { $0 + $1.taken } == Self.capacity)
        clock.advance(milliseconds: 10_000)
        #expect(takers.reduce(0) { $0 + $1.taken } == Self.capacity + 10 * Self.rate)
        let turns = takers.map(\.turns.count)
        #expect((turns.max() ?? 0) - (turns.min() ?? 0) <= 1)
    }

    @Test("What somebody does not use of his turn is for the next", arguments: [0, 1, 400])
    func unused(uses: Int) {
        let (first, modest, last) = (Taker(limit), Taker(limit, isGreedy: false, uses: uses), Taker(limit))
        first.ask()
        modest.ask()
        last.ask()
        clock.advance(milliseconds: 1_000)
        #expect(modest.taken == uses)
        #expect(first.taken + modest.taken + last.taken > Self.capacity + Self.rate - Self.portion)
        #expect(first.taken + modest.taken + last.taken <= Self.capacity + Self.rate)
    }

    @Test("Whoever asks again has one place in the line all the same")
    func onePlace() {
        let (first, second) = (Taker(limit), Taker(limit, isGreedy: false))
        first.ask()
        for _ in 0..<5 { #expect(second.ask() == 0) }
        clock.advance(milliseconds: 1_000)
        #expect(second.turns == [Self.portion])
    }

    @Test("Who is gone holds nobody up")
    func gone() {
        let (first, last) = (Taker(limit), Taker(limit, isGreedy: false))
        first.ask()
        for _ in 0..<100 { _ = Taker(limit).ask() }
        last.ask()
        clock.advance(milliseconds: 16)
        #expect(last.turns == [Self.portion])
    }
}
