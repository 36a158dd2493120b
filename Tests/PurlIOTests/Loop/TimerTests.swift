import Testing

@testable import PurlIO

@Suite("Timers run once, in order, and never within the call that makes them")
@NetworkActor struct TimerTests {
    private let loop = PollerKind.native.makeLoop()

    @Test func theSoonestRunsFirst() {
        var order: [Int] = []
        loop.schedule(after: .milliseconds(3)) { order.append(3) }
        loop.schedule(after: .milliseconds(1)) { order.append(1) }
        loop.schedule(after: .milliseconds(2)) { order.append(2) }
        while order.count < 3 { loop.turn(waiting: true) }
        #expect(order == [1, 2, 3])
    }

    @Test func aTimerDoesNotRunBeforeItsTime() {
        let start = MonotonicTime.current
        var ran: MonotonicTime?
        loop.turn(waiting: false)
        loop.schedule(after: .milliseconds(5)) { ran = .current }
        while ran == nil { loop.turn(waiting: true) }
        #expect(ran.map { $0 >= start + .milliseconds(5) } == true)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.min)])
    func noDelayMeansTheNextTurn(delay: Duration) {
        var runs = 0
        loop.schedule(after: delay) { runs += 1 }
        #expect(runs == 0)
        loop.turn(waiting: true)
        loop.turn(waiting: false)
        #expect(runs == 1)
    }

    @Test func equalDelaysKeepTheirOrder() {
        var order: [Int] = []
        for number in 0..<100 {
            loop.schedule(after: number % 2 == 0 ? .zero : .seconds(-5)) { order.append(number) }
        }
        loop.turn(waiting: true)
        #expect(order == Array(0..<100))
    }

    @Test func anEndlessDelayNeverRuns() {
        let timer = loop.schedule(after: .seconds(Int64.max)) { Issue.record("ran") }
        loop.turn(waiting: false)
        timer.cancel()
    }

    @Test func aCancelledTimerDoesNotRunAndReleasesItsAction() {
        weak var held: Recorder?
        let timer: LoopTimer
        do {
            let recorder = Recorder()
            held = recorder
            timer = loop.schedule(after: .zero) { recorder.readable += 1 }
        }
        #expect(held != nil)
        timer.cancel()
        timer.cancel()
        #expect(held == nil)
        loop.turn(waiting: false)
    }

    @Test func aTimerCanCancelAnotherThatIsDue() {
        var order: [String] = []
        var second: LoopTimer?
        loop.schedule(after: .zero) {
            order.append("first")
            second?.cancel()
        }
        second = loop.schedule(after: .zero) { order.append("second") }
        loop.schedule(after: .zero) { order.append("third") }
        loop.turn(waiting: true)
        #expect(order == ["first", "third"])
    }

    @Test func aTimerCanCancelItself() {
        var timer: LoopTimer?
        var runs = 0
        timer = loop.schedule(after: .zero) {
            runs += 1
            timer?.cancel()
        }
        loop.turn(waiting: true)
        loop.turn(waiting: false)
        #expect(runs == 1)
    }

    @Test func aTimerThatRenewsItselfRunsOnceATurn() {
        var runs = 0
        func renew() {
            runs += 1
            loop.schedule(after: .zero) { renew() }
        }
        loop.schedule(after: .zero) { renew() }
        for _ in 0..<10 { loop.turn(waiting: true) }
        #expect(runs == 10)
    }

    @Test func aHundredThousandTimersFireInOrderExceptTheCancelledHalf() {
        var heap = TimerHeap()
        var generator = SystemRandomNumberGenerator()
        var timers: [LoopTimer] = []
        var fired: [Int64] = []
        for _ in 0..<100_000 {
            let deadline = Int64.random(in: 0..<50_000, using: &generator)
            let timer = LoopTimer(loop: loop) { fired.append(deadline) }
            heap.insert(timer, at: MonotonicTime(nanoseconds: deadline))
            timers.append(timer)
        }
        for timer in timers.shuffled().prefix(50_000) { heap.remove(timer) }
        #expect(heap.count == 50_000)
        while let timer = heap.popDue(at: MonotonicTime(nanoseconds: 50_000), before: .max) { timer.fire() }
        #expect(fired.count == 50_000)
        #expect(zip(fired, fired.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(timers.allSatisfy { $0.position == nil })
    }
}

@Suite("Time does not overflow")
struct MonotonicTimeTests {
    @Test(
        arguments: [
            (0, Duration.seconds(1), 1_000_000_000),
            (5, .nanoseconds(-7), -2),
            (1, .seconds(Int64.max), .max),
            (-1, .seconds(Int64.min), .min),
            (.max, .nanoseconds(1), .max),
            (0, .milliseconds(-1_500), -1_500_000_000),
        ] as [(Int64, Duration, Int64)])
    func additionStopsAtTheEnds(start: Int64, duration: Duration, end: Int64) {
        #expect((MonotonicTime(nanoseconds: start) + duration).nanoseconds == end)
    }

    @Test(arguments: [(5, 3, 2), (3, 5, -2), (.max, -1, .max), (.min, 1, .min)] as [(Int64, Int64, Int64)])
    func differencesStopAtTheEnds(end: Int64, start: Int64, nanoseconds: Int64) {
        let difference = MonotonicTime(nanoseconds: end) - MonotonicTime(nanoseconds: start)
        #expect(difference == .nanoseconds(nanoseconds))
    }
}
