import PurlHTTP
import Testing

@Suite("Range (RFC 9110 §14.1.2)")
struct ByteRangeSetTests {
    static let accepted: [(String, [ByteRangeSpec], String)] = [
        ("bytes=0-9", [.bounds(0...9)], "bytes=0-9"),
        ("bytes=9-", [.from(9)], "bytes=9-"),
        ("bytes=-5", [.suffix(5)], "bytes=-5"),
        (" Bytes=0-0 , ,5-,\t-0,", [.bounds(0...0), .from(5), .suffix(0)], "bytes=0-0,5-,-0"),
        ("bytes=0-9223372036854775807", [.bounds(0...Int64.max)], "bytes=0-9223372036854775807"),
    ]

    @Test("A set of ranges is read and written", arguments: accepted)
    func accepts(text: String, ranges: [ByteRangeSpec], written: String) {
        #expect(ByteRangeSet(text)?.ranges == ranges)
        #expect(ByteRangeSet(ranges).description == written)
    }

    @Test(
        "Any other text is not a set of ranges",
        arguments: [
            "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=9-0", "bytes=--5", "bytes=+1-2", "bytes=1",
            "bytes=0-9,x", "bytes=0-9-10", "bytes=0 -9", "items=0-9", "0-9", "=0-9", "bytes =0-9", "bytes 0-9",
            "bytes=99999999999999999999-", "bytes=0-99999999999999999999", "bytes=-99999999999999999999",
            "bytes=99999999999999999999-5", "bytes=x-5", "bytes=5-x",
        ])
    func rejects(text: String) {
        #expect(ByteRangeSet(text) == nil)
    }

    static let resolved: [(String, Int64, [Range<Int64>])] = [
        ("bytes=0-9", 100, [0..<10]),
        ("bytes=90-", 100, [90..<100]),
        ("bytes=-10", 100, [90..<100]),
        ("bytes=0-999", 100, [0..<100]),
        ("bytes=0-9223372036854775807", 100, [0..<100]),
        ("bytes=0-9223372036854775807", .max, [0..<Int64.max]),
        ("bytes=-999", 100, [0..<100]),
        ("bytes=99-99", 100, [99..<100]),
        ("bytes=100-", 100, []),
        ("bytes=100-200", 100, []),
        ("bytes=-0", 100, []),
        ("bytes=0-", 0, []),
        ("bytes=-5", 0, []),
        ("bytes=0-9", -1, []),
        ("bytes=5-6,100-,0-1", 100, [5..<7, 0..<2]),
    ]

    @Test("Ranges are cut to the representation, and those outside it are left out", arguments: resolved)
    func resolves(text: String, length: Int64, ranges: [Range<Int64>]) throws {
        #expect(try #require(ByteRangeSet(text)).resolve(against: length) == ranges)
    }

    @Test("Absurd ranges are resolved without a trap")
    func absurdRanges() {
        let set = ByteRangeSet([.from(-1), .bounds(-5...5), .suffix(-1), .suffix(.min), .from(.min)])
        #expect(set.resolve(against: 100).isEmpty)
    }
}
