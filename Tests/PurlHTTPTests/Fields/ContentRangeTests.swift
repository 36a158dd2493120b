import PurlHTTP
import Testing

@Suite("Content-Range (RFC 9110 §14.4)")
struct ContentRangeTests {
    static let accepted: [(String, ContentRange, String)] = [
        ("bytes 0-9/100", ContentRange(bounds: 0...9, completeLength: 100), "bytes 0-9/100"),
        ("bytes 0-0/1", ContentRange(bounds: 0...0, completeLength: 1), "bytes 0-0/1"),
        ("bytes 90-99/*", ContentRange(bounds: 90...99, completeLength: nil), "bytes 90-99/*"),
        ("bytes */100", ContentRange(bounds: nil, completeLength: 100), "bytes */100"),
        ("bytes */0", ContentRange(bounds: nil, completeLength: 0), "bytes */0"),
        (" Bytes  007-009/0100 ", ContentRange(bounds: 7...9, completeLength: 100), "bytes 7-9/100"),
        (
            "bytes 9223372036854775806-9223372036854775806/9223372036854775807",
            ContentRange(bounds: .max - 1 ... .max - 1, completeLength: .max),
            "bytes 9223372036854775806-9223372036854775806/9223372036854775807"
        ),
    ]

    @Test("A range is read and written", arguments: accepted)
    func accepts(text: String, range: ContentRange, written: String) {
        #expect(ContentRange(text) == range)
        #expect(range.description == written)
    }

    @Test(
        "Any other text is not a range",
        arguments: [
            "", "bytes", "bytes ", "0-9/100", "bytes=0-9/100", "items 0-9/100", "bytes 0-9", "bytes 0-9/", "bytes /100",
            "bytes */*", "bytes 9-0/100", "bytes 0-100/100", "bytes 0-9/9", "bytes -9/100", "bytes 0-/100",
            "bytes +0-9/100", "bytes 0--9/100", "bytes 0-9/-100", "bytes 0-9/100/2", "bytes 0-9 /100",
            "bytes 0 - 9/100",
            "bytes 0x0-9/100", "bytes 0-9/99999999999999999999", "bytes 0-99999999999999999999/*", "bytes 0-9-10/100",
        ])
    func rejects(text: String) {
        #expect(ContentRange(text) == nil)
    }
}
