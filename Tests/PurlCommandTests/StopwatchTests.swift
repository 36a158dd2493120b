import PurlTesting
import Testing

@testable import PurlCommand

@Suite("The time that a transfer takes")
struct StopwatchTests {
    private let clock = ManualClock()

    @Test("a digest's time is not in a transfer's, whether it is right, or another attempt follows")
    func digests() {
        var time = Stopwatch(clock)
        clock.advance(by: .seconds(2))
        time.pause()
        clock.advance(by: .seconds(60))
        #expect(time.elapsed == .seconds(2))
        #expect(BatchText.amount(4_000_000, new: 4_000_000, in: time.elapsed) == "4.00 MB in 2.0 s (2.00 MB/s)")
        time.resume()
        clock.advance(by: .seconds(1))
        time.pause()
        clock.advance(by: .seconds(60))
        #expect(time.elapsed == .seconds(3))
    }

    @Test("waiting between attempts counts, and neither a second pause nor running on changes the sum")
    func repeated() {
        var time = Stopwatch(clock)
        clock.advance(by: .seconds(1))
        time.resume()
        clock.advance(by: .seconds(4))
        #expect(time.elapsed == .seconds(5))
        time.pause()
        clock.advance(by: .seconds(1))
        time.pause()
        #expect(time.elapsed == .seconds(5))
    }
}
