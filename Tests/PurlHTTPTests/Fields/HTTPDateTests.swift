import PurlHTTP
import Testing

@Suite("HTTP dates (RFC 9110 §5.6.7)")
struct HTTPDateTests {
    static let accepted: [(String, Int64)] = [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777),
        ("Thu Nov 16 08:49:37 1995", 816_511_777),
        (" Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
        ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        // A wrong name of the day is ignored.
        ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ]

    @Test("The three formats are read", arguments: accepted)
    func accepts(text: String, seconds: Int64) {
        #expect(HTTPDate(text)?.secondsSinceEpoch == seconds)
    }

    static let refused = [
        "", "now", "0", "784111777", "1994-11-06T08:49:37Z",
        "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT x", "Sun,  06 Nov 1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT", "sun, 06 nov 1994 08:49:37 gmt", "Xxx, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nox 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Sun, 30 Feb 2000 00:00:00 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov +994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 94 08:49:37 GMT",
        "Sunday, 31-Feb-94 08:49:37 GMT", "Sun Nov 06 08:49:37 1994 GMT", "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94", "Sun Nov 31 08:49:37 1994", "Sun,", ",", ",,,,", "Sunday,",
        "Sun, 06 Nov 1994 08:49:37 GMT" + String(repeating: "x", count: 1_000),
    ]

    @Test("Any other text is not a date", arguments: refused)
    func rejects(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    static let written: [(Int64, String)] = [
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
        (951_825_600, "Tue, 29 Feb 2000 12:00:00 GMT"),
        (1_709_164_800, "Thu, 29 Feb 2024 00:00:00 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
    ]

    @Test("A date is written in the preferred format", arguments: written)
    func writes(seconds: Int64, text: String) {
        #expect(HTTPDate(secondsSinceEpoch: seconds).description == text)
    }

    @Test("Every day of 800 years is read as it was written")
    func everyDay() {
        var previous: HTTPDate?
        for day in Int64(-146_097)...146_097 where day % 3 == 0 {
            let date = HTTPDate(secondsSinceEpoch: day * 86_400 + 12_345)
            if HTTPDate(date.description) != date { Issue.record("\(date)") }
            if let previous, previous >= date { Issue.record("\(date)") }
            previous = date
        }
    }

    @Test("The smallest and the largest number of seconds are written without a trap", arguments: [Int64.min, .max])
    func extremes(seconds: Int64) {
        #expect(HTTPDate(secondsSinceEpoch: seconds).description.hasSuffix(" GMT"))
    }

    static let shortYears: [(String, now: String?, String)] = [
        ("Sunday, 06-Nov-94 00:00:00 GMT", nil, "Sun, 06 Nov 1994 00:00:00 GMT"),
        ("Sunday, 06-Nov-70 00:00:00 GMT", nil, "Fri, 06 Nov 1970 00:00:00 GMT"),
        ("Sunday, 06-Nov-69 00:00:00 GMT", nil, "Wed, 06 Nov 2069 00:00:00 GMT"),
        ("Sunday, 06-Nov-00 00:00:00 GMT", nil, "Mon, 06 Nov 2000 00:00:00 GMT"),
        ("Sunday, 06-Nov-94 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "Sun, 06 Nov 1994 00:00:00 GMT"),
        ("Sunday, 06-Nov-30 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "Wed, 06 Nov 2030 00:00:00 GMT"),
        ("Sunday, 01-Jan-74 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "Mon, 01 Jan 2074 00:00:00 GMT"),
        ("Sunday, 01-Jan-74 00:00:01 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 01 Jan 1974 00:00:01 GMT"),
        ("Sunday, 06-Nov-75 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "Thu, 06 Nov 1975 00:00:00 GMT"),
        ("Sunday, 06-Nov-10 00:00:00 GMT", "Mon, 01 Jan 2080 00:00:00 GMT", "Thu, 06 Nov 2110 00:00:00 GMT"),
        ("Sunday, 29-Feb-00 00:00:00 GMT", "Mon, 01 Jan 2024 00:00:00 GMT", "Tue, 29 Feb 2000 00:00:00 GMT"),
    ]

    @Test("A year of two digits is at most 50 years ahead", arguments: shortYears)
    func twoDigitYears(text: String, now: String?, expected: String) {
        #expect(HTTPDate(text, now: now.flatMap { HTTPDate($0) })?.description == expected)
    }
}
