import Testing

@testable import PurlCommand

@Suite("Formatted numbers")
struct FormattingTests {
    @Test(
        "bytes have three digits and a decimal unit",
        arguments: [
            (-1, "0 B"), (0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1.00 kB"), (1004, "1.00 kB"),
            (1005, "1.01 kB"), (1500, "1.50 kB"), (9_994, "9.99 kB"), (9_995, "10.0 kB"), (12_345, "12.3 kB"),
            (99_949, "99.9 kB"), (99_950, "100 kB"), (999_499, "999 kB"), (999_500, "1.00 MB"),
            (12_345_678, "12.3 MB"), (200_000_000, "200 MB"), (1_500_000_000, "1.50 GB"),
            (Int64.max, "9.22 EB"),
        ] as [(Int64, String)])
    func bytes(count: Int64, text: String) {
        #expect(ByteText.count(count) == text)
    }

    @Test(
        "rates are bytes a second",
        arguments: [
            (0, "0 B/s"), (999.4, "999 B/s"), (31_000_000, "31.0 MB/s"), (-5, "0 B/s"), (.nan, "0 B/s"),
            (.infinity, "0 B/s"), (1e30, "0 B/s"),
        ] as [(Double, String)])
    func rates(rate: Double, text: String) {
        #expect(ByteText.rate(rate) == text)
    }

    @Test(
        "the time left has minutes and seconds",
        arguments: [
            (.seconds(-3), "0:00"), (.milliseconds(900), "0:00"), (.seconds(5), "0:05"), (.seconds(754), "12:34"),
            (.seconds(3599), "59:59"), (.seconds(3723), "1:02:03"), (.seconds(100_000), "1 d 3 h"),
        ] as [(Duration, String)])
    func clock(duration: Duration, text: String) {
        #expect(TimeText.clock(duration) == text)
    }

    @Test(
        "the time taken has tenths while it is short",
        arguments: [
            (.zero, "0.0 s"), (.milliseconds(449), "0.4 s"), (.milliseconds(12_349), "12.3 s"),
            (.seconds(60), "1:00"), (.seconds(3723), "1:02:03"),
        ] as [(Duration, String)])
    func elapsed(duration: Duration, text: String) {
        #expect(TimeText.elapsed(duration) == text)
    }
}
