import PurlHTTP
import Testing

@Suite("Cookie dates (RFC 6265bis §5.1.1)")
struct CookieDateTests {
    static let read: [(String, Int64)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Sun, 06-Nov-1994 08:49:37 GMT", 784_111_777),
        // Any order, any delimiter, any zone, which is ignored.
        ("1994 nov 6 8:49:37", 784_111_777),
        ("08:49:37 06 November 1994 +0500", 784_111_777),
        ("6/nov/1994;08:49:37", 784_111_777),
        ("[06]{Nov}(1994)<08:49:37>", 784_111_777),
        ("\t06 Nov 1994\t08:49:37", 784_111_777),
        // What follows a part's digits, if it is no digit, belongs to it.
        ("6th Nov 1994AD 08:49:37Z", 784_111_777),
        // Of several, the first.
        ("06 Nov Dec 1994 08:49:37 09:00:00 2001", 784_111_777),
        ("Thu, 01 Jan 1970 0:0:0", 0),
        ("01 Jan 70 00:00:00", 0),
        ("01 Jan 69 00:00:00", 3_124_224_000),
        ("01 Jan 99 00:00:00", 915_148_800),
        ("01 Jan 00 00:00:00", 946_684_800),
        ("01 Jan 1601 00:00:00", -11_644_473_600),
        ("31 Dec 9999 23:59:59", 253_402_300_799),
        ("29 Feb 2024 00:00:00", 1_709_164_800),
    ]

    @Test("Any text with a time, a day, a month and a year is a date", arguments: read)
    func reads(text: String, seconds: Int64) {
        #expect(CookieDate.read(text)?.secondsSinceEpoch == seconds)
    }

    static let refused: [(String, rule: String)] = [
        ("", "step 3"), ("never", "step 3"), ("Sun, 06 Nov 1994", "step 3, no time"),
        ("06 Nov 08:49:37", "step 3, no year"), ("Nov 1994 08:49:37", "step 3, no day"),
        ("06 1994 08:49:37", "step 3, no month"), ("00 Nov 1994 08:49:37", "step 5, day"),
        ("32 Nov 1994 08:49:37", "step 5, day"), ("06 Nov 1600 08:49:37", "step 5, year"),
        ("06 Nov 100 08:49:37", "step 5, year"), ("06 Nov 1994 24:00:00", "step 5, hour"),
        ("06 Nov 1994 08:60:00", "step 5, minute"), ("06 Nov 1994 08:49:60", "step 5, second"),
        ("31 Nov 1994 08:49:37", "step 6, no such day"), ("29 Feb 2023 08:49:37", "step 6, no such day"),
        ("06 Nov 1994 08:49", "time"), ("06 Nov 1994 08:49:375", "time"), ("06 Nov 1994 008:49:37", "time"),
        ("06 Nov 1994 8x:49:37", "time"), ("06 Nov 19945 08:49:37", "year"), ("006 Nov 94 08:49:37", "day"),
        ("06 No 1994 08:49:37", "month"), ("06 Noß 1994 08:49:37", "month"),
    ]

    @Test("A date that lacks a part or does not exist is rejected", arguments: refused)
    func rejects(text: String, rule: String) {
        #expect(CookieDate.read(text) == nil, "\(rule)")
    }
}
