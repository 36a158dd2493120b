import PurlHTTP
import Testing

/// A response that was generated and received at second 1,000, unless the arguments differ.
func cached(
    _ fields: HeaderFields, status: Int = 200, request: HeaderFields = [:], sent: Int64 = 1_000, came: Int64 = 1_000
) -> CachedResponse {
    CachedResponse(requestFields: request, status: status, fields: fields, requestTime: sent, responseTime: came)
}

/// The moment as a field value.
func date(_ seconds: Int64) -> String { HTTPDate(secondsSinceEpoch: seconds).description }

@Suite("Freshness (RFC 9111 §4.2)")
struct FreshnessTests {
    static let lifetimes: [(HeaderFields, Int, Int64)] = [
        ([:], 200, 0),
        (["Cache-Control": "max-age=60"], 200, 60),
        (["Cache-Control": "max-age=60"], 599, 60),
        // max-age wins over Expires, s-maxage is for others.
        (["Cache-Control": "max-age=60", "Date": date(1_000), "Expires": date(5_000)], 200, 60),
        (["Cache-Control": "s-maxage=60"], 200, 0),
        (["Date": date(1_000), "Expires": date(1_030)], 200, 30),
        (["Expires": date(1_030)], 200, 30),
        (["Date": date(2_000), "Expires": date(1_030)], 200, 0),
        (["Date": date(1_000), "Expires": "0", "Last-Modified": date(0)], 200, 0),
        (["Cache-Control": "max-age=x", "Expires": date(9_000)], 200, 0),
        // A tenth of the time without changes.
        (["Date": date(1_000), "Last-Modified": date(0)], 200, 100),
        (["Last-Modified": date(500)], 404, 50),
        (["Last-Modified": date(500)], 302, 0),
        (["Last-Modified": date(500), "Cache-Control": "public"], 302, 50),
        (["Last-Modified": date(2_000)], 200, 0),
        (["Last-Modified": "x"], 200, 0),
    ]

    @Test("Directives, Expires and the last modification give the lifetime", arguments: lifetimes)
    func lifetime(fields: HeaderFields, status: Int, expected: Int64) {
        #expect(cached(fields, status: status).freshnessLifetime == expected)
    }

    static let ages: [(HeaderFields, sent: Int64, came: Int64, now: Int64, Int64)] = [
        ([:], 1_000, 1_000, 1_000, 0),
        ([:], 1_000, 1_000, 1_060, 60),
        // The time the request took counts, since the response may have been generated at its beginning.
        ([:], 990, 1_000, 1_060, 70),
        (["Date": date(1_000)], 1_000, 1_000, 1_060, 60),
        (["Date": date(900)], 1_000, 1_000, 1_060, 160),
        // A server whose clock is ahead does not make the response younger.
        (["Date": date(5_000)], 1_000, 1_000, 1_060, 60),
        (["Date": date(1_000), "Age": "30"], 990, 1_000, 1_060, 100),
        (["Date": date(900), "Age": "30"], 990, 1_000, 1_060, 160),
        (["Age": "x"], 1_000, 1_000, 1_060, 60),
        // A clock that was set back.
        (["Age": "30"], 1_000, 1_000, 500, 30),
        (["Age": "30"], 1_000, 500, 500, 30),
        // Absurd times.
        (["Age": "99999999999"], .min, .max, .max, .max),
        ([:], .max, .min, .max, .max),
        ([:], 0, .max, .min, .max),
    ]

    @Test("Date, Age and the times of the exchange give the age", arguments: ages)
    func age(fields: HeaderFields, sent: Int64, came: Int64, now: Int64, expected: Int64) {
        #expect(cached(fields, sent: sent, came: came).currentAge(at: now) == expected)
    }

    @Test("A response is fresh until its age reaches its lifetime")
    func border() {
        let response = cached(["Cache-Control": "max-age=60"])
        #expect(response.isFresh(at: 1_059))
        #expect(!response.isFresh(at: 1_060))
        #expect(response.staleness(at: 1_060) == 0)
        #expect(response.staleness(at: 1_075) == 15)
        #expect(response.staleness(at: 1_000) == 0)
        #expect(!cached(["Cache-Control": "max-age=0"]).isFresh(at: 1_000))
    }
}
