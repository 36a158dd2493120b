import PurlHTTP
import Testing

@Suite("Percent codes become the bytes that they stand for")
struct PercentCodingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let coded: String
        let decoded: String?

        var testDescription: String { coded }

        init(_ coded: String, _ decoded: String?) {
            (self.coded, self.decoded) = (coded, decoded)
        }
    }

    @Test(
        arguments: [
            Row("", ""),
            Row("plain", "plain"),
            Row("%2Ftmp%2fs", "/tmp/s"),
            Row("a%20b", "a b"),
            Row("%25", "%"),
            // UTF-8, of two bytes and of four.
            Row("na%C3%AFve", "naïve"),
            Row("%F0%9F%98%80", "😀"),
            // Broken codes.
            Row("%", nil),
            Row("%2", nil),
            Row("%2G", nil),
            Row("%G2", nil),
            // Bytes that are not UTF-8.
            Row("%FF", nil),
            Row("%C3", nil),
        ])
    func decoding(row: Row) {
        #expect(row.coded.percentDecoded == row.decoded)
    }
}
