import Testing

@testable import PurlDownloads

private let mebi: Int64 = 1 << 20

@Suite("The plan for several connections")
struct RangePlanTests {
    struct Start: Sendable, CustomTestStringConvertible {
        let present: [Range<Int64>]
        let rests: [Range<Int64>]
        let prefix: Int64

        var testDescription: String { "\(present)" }
    }

    static let starts = [
        Start(present: [], rests: [0..<100], prefix: 0),
        Start(present: [0..<40], rests: [40..<100], prefix: 40),
        Start(present: [10..<40], rests: [0..<10, 40..<100], prefix: 0),
        Start(present: [0..<10, 20..<30, 90..<100], rests: [10..<20, 30..<90], prefix: 10),
        Start(present: [0..<10, 10..<30], rests: [30..<100], prefix: 30),
        Start(present: [0..<100], rests: [], prefix: 100),
    ]

    @Test("Each gap between present ranges is a rest to be read", arguments: starts)
    func beginning(start: Start) {
        let plan = RangePlan(total: 100, present: start.present)
        #expect(plan.segments.map(\.rest).filter { !$0.isEmpty } == start.rests)
        #expect(plan.prefix == start.prefix)
        #expect(plan.presentCount == start.present.reduce(0) { $0 + Int64($1.count) })
        #expect(plan.isComplete == start.rests.isEmpty)
        #expect(RangePlan(total: 100, present: plan.present) == plan)
    }

    @Test("What a response digests as a whole is not shared, and not digested where it is shared already")
    func undivided() {
        var plan = RangePlan(total: 16 * mebi)
        plan.assignLeader(0)
        let isWhole = plan.keepWhole(0, 0..<16 * mebi)
        #expect(isWhole)
        let shared = plan.assign(1)
        #expect(shared == nil)
        plan.release(0)
        let again = [plan.assign(0), plan.assign(1)]
        #expect(again == [0..<16 * mebi, 8 * mebi..<16 * mebi])
        let areWhole = [plan.keepWhole(0, 0..<16 * mebi), plan.keepWhole(1, 8 * mebi..<16 * mebi)]
        #expect(areWhole == [false, true])
        let third = plan.assign(2)
        #expect(third == 4 * mebi..<8 * mebi)
    }

    @Test("The part of a connection that has just begun is as long as the others with what it has brought")
    func spreadAfterTheFirstBytes() {
        var plan = RangePlan(total: 8 * mebi, present: [0..<65_536])
        plan.spread(over: 4)
        #expect(plan.segments.map(\.start) == [0, 2 * mebi, 4 * mebi, 6 * mebi])
        // Otherwise too little of it would be left.
        var later = RangePlan(total: 8 * mebi, present: [0..<2 * mebi])
        later.spread(over: 3)
        #expect(later.segments.map(\.start) == [0, 4 * mebi, 6 * mebi])
    }

    @Test(
        "The rest is spread in equal parts of at least 1 MiB",
        arguments: [(64, 4, 4), (64, 1, 1), (3, 8, 3), (1, 8, 1), (100, 3, 3)])
    func spread(mebibytes: Int64, connections: Int, parts: Int) {
        var plan = RangePlan(total: mebibytes * mebi)
        plan.spread(over: connections)
        #expect(plan.segments.count == parts)
        #expect(plan.segments.allSatisfy { Int64($0.rest.count) >= RangePlan.leastShare })
        #expect(plan.segments.first?.start == 0)
        #expect(plan.segments.last?.end == plan.total)
    }

    @Test("An idle connection takes a rest that nobody reads, before it shares one")
    func unread() {
        var plan = RangePlan(total: 100 * mebi, present: [0..<10 * mebi, 20 * mebi..<25 * mebi])
        plan.assignLeader(0)
        #expect(plan.rest(of: 0) == 10 * mebi..<20 * mebi)
        check(plan.assign(1), 25 * mebi..<100 * mebi)
        #expect(!plan.hasUnreadSegment)
        check(plan.assign(2), (25 + 100) * mebi / 2..<100 * mebi)
        check(plan.assign(2), nil)
        #expect(plan.readers == [0, 1, 2])
    }

    struct Share: Sendable, CustomTestStringConvertible {
        let rest: Int64
        let rates: (reader: Double?, other: Double?)
        /// Where the other one begins; `nil` when it is not needed.
        let bound: Int64?

        var testDescription: String { "\(rest) at \(rates)" }
    }

    static let shares = [
        Share(rest: 10 * mebi, rates: (nil, nil), bound: 5 * mebi),
        Share(rest: 10 * mebi, rates: (2e6, nil), bound: 5 * mebi),
        Share(rest: 10 * mebi, rates: (1e6, 4e6), bound: 2 * mebi),
        Share(rest: 10 * mebi, rates: (4e6, 1e6), bound: 8 * mebi),
        // Neither gets less than 1 MiB.
        Share(rest: 10 * mebi, rates: (1, 4e6), bound: mebi),
        Share(rest: 2 * mebi, rates: (nil, nil), bound: mebi),
        Share(rest: 2 * mebi - 1, rates: (nil, nil), bound: nil),
        Share(rest: 2 * mebi - 1, rates: (4e6, 4e6), bound: nil),
        // A rest that cannot be shared is overtaken, if that takes less than half the time.
        Share(rest: mebi, rates: (1e6, 2.1e6), bound: 0),
        Share(rest: mebi, rates: (1e6, 1.9e6), bound: nil),
        Share(rest: mebi, rates: (0, 1e6), bound: 0),
        Share(rest: mebi, rates: (nil, 1e6), bound: nil),
        Share(rest: mebi, rates: (1e6, nil), bound: nil),
    ]

    @Test("A rest is shared by half, or in proportion to the rates", arguments: shares)
    func share(share: Share) {
        var plan = RangePlan(total: share.rest)
        plan.assignLeader(0)
        if let rate = share.rates.reader { plan.setRate(rate, of: 0) }
        if let rate = share.rates.other { plan.setRate(rate, of: 1) }
        let range = plan.assign(1)
        #expect(range == share.bound.map { $0..<share.rest })
        if let bound = share.bound, bound > 0 { #expect(plan.rest(of: 0) == 0..<bound) }
    }

    @Test("A rest is overtaken once: the first one wins, and what both receive is placed once")
    func overtaking() {
        var plan = RangePlan(total: mebi)
        plan.assignLeader(0)
        check(plan.place(1000, by: 0), false)
        plan.setRate(1000, of: 0)
        plan.setRate(1_000_000, of: 1)
        plan.setRate(1_000_000, of: 2)
        check(plan.assign(1), 1000..<mebi)
        check(plan.assign(2), nil)
        check(plan.place(500, by: 1), false)
        #expect(plan.placement(of: 400, by: 0) == .init(skipped: 400, offset: 1500, count: 0))
        check(plan.place(400, by: 0), false)
        #expect(plan.placement(of: 200, by: 0) == .init(skipped: 100, offset: 1500, count: 100))
        check(plan.place(200, by: 0), false)
        #expect(plan.placement(of: 150, by: 1) == .init(skipped: 100, offset: 1600, count: 50))
        check(plan.place(Int(mebi) - 1500, by: 1), true)
        #expect(plan.rest(of: 0) == nil)
        #expect(plan.isComplete)
    }

    @Test("What a response sends beyond its segment is dropped")
    func beyond() {
        var plan = RangePlan(total: 10 * mebi)
        plan.assignLeader(0)
        check(plan.assign(1), 5 * mebi..<10 * mebi)
        let count = Int(6 * mebi)
        #expect(plan.placement(of: count, by: 0) == .init(skipped: 0, offset: 0, count: Int(5 * mebi)))
        check(plan.place(count, by: 0), true)
        #expect(plan.present == [0..<5 * mebi])
    }

    @Test("A response to the end continues with segments that are empty and that nobody reads")
    func extending() {
        var plan = RangePlan(total: 10 * mebi)
        plan.spread(over: 5)
        plan.assignLeader(0)
        check(plan.assign(1), 2 * mebi..<4 * mebi)
        plan.extend(0, for: Int(3 * mebi))
        #expect(plan.rest(of: 0) == 0..<2 * mebi)
        plan.release(1)
        plan.extend(0, for: Int(2 * mebi) - 1)
        #expect(plan.rest(of: 0) == 0..<2 * mebi)
        plan.extend(0, for: Int(2 * mebi))
        #expect(plan.rest(of: 0) == 0..<4 * mebi)
        check(plan.assign(1), 4 * mebi..<6 * mebi)
        check(plan.place(1, by: 1), false)
        plan.forget(1)
        plan.extend(0, for: Int(5 * mebi))
        #expect(plan.rest(of: 0) == 0..<4 * mebi)
    }

    @Test("Complete segments take no room, and their readers read on nowhere else")
    func joining() {
        var plan = RangePlan(total: 8 * mebi)
        plan.spread(over: 4)
        let ranges = (1...4).compactMap { plan.assign($0) }
        #expect(ranges.count == 4)
        check(plan.place(Int(2 * mebi), by: 1), true)
        check(plan.place(100, by: 2), false)
        // The first segment is complete, so that it is one with the second.
        check(plan.assign(5), 5 * mebi..<6 * mebi)
        #expect(plan.segments.map(\.start) == [0, 4 * mebi, 5 * mebi, 6 * mebi])
        #expect(plan.readers == [2, 3, 4, 5])
        #expect(plan.placement(of: 10, by: 2) == .init(skipped: 0, offset: 2 * mebi + 100, count: 10))
        #expect(plan.placement(of: 10, by: 1) == nil)
    }

    @Test("One connection reads what nobody reads in one piece, up to what is there")
    func holes() {
        var plan = RangePlan(total: 8 * mebi)
        plan.spread(over: 4)
        check(plan.assign(1), 0..<2 * mebi)
        check(plan.assign(2), 2 * mebi..<4 * mebi)
        check(plan.place(10, by: 2), false)
        plan.forget(1)
        plan.forget(2)
        plan.joinUnread()
        check(plan.assignUnread(0), 0..<2 * mebi)
        plan.release(0)
        #expect(plan.hasSeveralRests)
        plan = RangePlan(total: 8 * mebi, present: [0..<2 * mebi + 10])
        #expect(!plan.hasSeveralRests)
        check(plan.assignUnread(0), 2 * mebi + 10..<8 * mebi)
        check(plan.assignUnread(1), nil)
    }

    @Test("A rest whose connection is gone is read by another one, from where it stopped")
    func released() {
        var plan = RangePlan(total: 10 * mebi)
        plan.assignLeader(0)
        check(plan.assign(1), 5 * mebi..<10 * mebi)
        check(plan.place(1000, by: 1), false)
        plan.forget(1)
        #expect(plan.hasUnreadSegment)
        check(plan.assign(2), 5 * mebi + 1000..<10 * mebi)
        #expect(plan.placement(of: 1, by: 1) == nil)
    }

    @Test("Every byte is placed exactly once, whatever the order of events", arguments: 0..<300)
    func property(seed: UInt64) {
        var random = Generator(state: seed)
        let unit = 64 << 10
        let units = Int.random(in: 1...200, using: &random)
        let total = Int64(units * unit)
        var written = [Int](repeating: 0, count: units)
        var plan = RangePlan(total: total)
        var ends: [RangePlan.Reader: Int64] = [:]
        var positions: [RangePlan.Reader: Int64] = [:]
        if seed.isMultiple(of: 2) { plan.spread(over: .random(in: 1...9, using: &random)) }
        plan.assignLeader(0)
        (positions[0], ends[0]) = (0, total)
        var steps = 0
        while !plan.isComplete {
            steps += 1
            #expect(steps < 100_000)
            let reader = Int.random(in: 0...8, using: &random)
            guard let position = positions[reader], let end = ends[reader] else {
                let range = plan.assign(reader)
                #expect(range?.isEmpty != true)
                // Bounds are any byte: a response is modelled in units of the test only where it is counted.
                if let range { (positions[reader], ends[reader]) = (range.lowerBound, range.upperBound) }
                continue
            }
            switch Int.random(in: 0..<40, using: &random) {
            case 0:
                plan.forget(reader)
                (positions[reader], ends[reader]) = (nil, nil)
            case 1: plan.setRate(.random(in: 0...1e7, using: &random), of: reader)
            case 2 where seed.isMultiple(of: 3):
                // Killed, and resumed from what the journal holds.
                plan = RangePlan(total: total, present: plan.present)
                (positions, ends) = ([:], [:])
            default:
                let count = Int(min(end - position, Int64.random(in: 1...Int64(4 * unit), using: &random)))
                if reader == 0 { plan.extend(reader, for: count) }
                // Others have brought all of its segment.
                guard let placement = plan.placement(of: count, by: reader) else {
                    (positions[reader], ends[reader]) = (nil, nil)
                    continue
                }
                #expect(placement.skipped + placement.count <= count)
                #expect(placement.count == 0 || placement.offset == position + Int64(placement.skipped))
                let before = plan.presentCount
                let isOver = plan.place(count, by: reader)
                #expect(plan.presentCount == before + Int64(placement.count))
                for byte in stride(
                    from: (Int(placement.offset) + unit - 1) / unit * unit,
                    to: Int(placement.offset) + placement.count, by: unit)
                { written[byte / unit] += 1 }
                positions[reader] = position + Int64(count)
                if isOver {
                    plan.release(reader)
                    (positions[reader], ends[reader]) = (nil, nil)
                } else if positions[reader] == end {
                    Issue.record("A response ended before its segment")
                }
            }
        }
        // The first byte of each unit.
        #expect(written.allSatisfy { $0 == 1 })
        #expect(plan.present == [0..<total])
    }
}

/// Compares the result of a call that changes the plan.
private func check<Value: Equatable>(
    _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: sourceLocation)
}

/// A small generator whose sequence a seed decides.
private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
