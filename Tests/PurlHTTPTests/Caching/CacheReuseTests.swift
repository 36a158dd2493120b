import PurlHTTP
import Testing

@Suite("Using a stored response (RFC 9111 §4)")
struct CacheReuseTests {
    /// Fresh for 60 seconds, with a validator; asked for at second 1,000 and after.
    static func stored(_ directives: String = "max-age=60") -> CachedResponse {
        cached(["Cache-Control": directives, "ETag": "\"1\""])
    }

    static let ask = CacheReuse.validate(["If-None-Match": "\"1\""])

    static let table: [(String, String?, Int64, CacheReuse)] = [
        ("max-age=60", nil, 1_000, .use(age: 0)),
        ("max-age=60", nil, 1_059, .use(age: 59)),
        ("max-age=60", nil, 1_060, ask),
        ("max-age=60, no-cache", nil, 1_001, ask),
        ("max-age=60, no-cache=\"Set-Cookie\"", nil, 1_001, ask),
        ("max-age=60, must-revalidate", nil, 1_059, .use(age: 59)),
        // What the request wants.
        ("max-age=60", "no-cache", 1_001, ask),
        ("max-age=60", "no-store", 1_001, .use(age: 1)),
        ("max-age=60", "max-age=10", 1_010, .use(age: 10)),
        ("max-age=60", "max-age=10", 1_011, ask),
        ("max-age=60", "max-age=0", 1_000, ask),
        ("max-age=60", "min-fresh=20", 1_040, .use(age: 40)),
        ("max-age=60", "min-fresh=20", 1_041, ask),
        ("max-age=60", "min-fresh=61", 1_000, ask),
        ("max-age=60", "max-stale", 9_000, .use(age: 8_000)),
        ("max-age=60", "max-stale=10", 1_070, .use(age: 70)),
        ("max-age=60", "max-stale=10", 1_071, ask),
        ("max-age=60", "max-stale, max-age=100", 1_101, ask),
        ("max-age=60, must-revalidate", "max-stale", 1_060, ask),
        ("max-age=60, proxy-revalidate", "max-stale", 1_060, .use(age: 60)),
        ("max-age=60, no-cache", "max-stale", 1_001, ask),
        ("max-age=60", "only-if-cached", 1_059, .use(age: 59)),
        ("max-age=60", "only-if-cached", 1_060, .unsatisfiable),
        ("max-age=60", "only-if-cached, max-stale", 1_060, .use(age: 60)),
        ("max-age=60", "only-if-cached, no-cache", 1_000, .unsatisfiable),
    ]

    @Test("The directives of response and request decide", arguments: table)
    func decides(response: String, request: String?, now: Int64, expected: CacheReuse) {
        var fields = HeaderFields()
        fields[.cacheControl] = request
        #expect(Self.stored(response).reuse(for: fields, at: now) == expected)
    }

    @Test("Another variant is not used")
    func variants() {
        let response = cached(
            ["Cache-Control": "max-age=60", "Vary": "Accept", "ETag": "\"1\""], request: ["Accept": "a"])
        #expect(response.reuse(for: ["Accept": "a"], at: 1_000) == .use(age: 0))
        #expect(response.reuse(for: ["Accept": "b"], at: 1_000) == .forward)
        #expect(response.reuse(for: ["Accept": "b", "Cache-Control": "only-if-cached"], at: 1_000) == .unsatisfiable)
        #expect(!response.mayReplaceError(for: ["Accept": "b"], at: 1_000))
    }

    static let validators: [(HeaderFields, HeaderFields)] = [
        ([:], [:]),
        (["ETag": "W/\"a\""], ["If-None-Match": "W/\"a\""]),
        (["Last-Modified": date(500)], ["If-Modified-Since": date(500)]),
        (
            ["Last-Modified": date(500), "ETag": "\"a\""],
            ["If-None-Match": "\"a\"", "If-Modified-Since": date(500)]
        ),
        (["ETag": "a", "Last-Modified": "yesterday"], [:]),
    ]

    @Test("The server is asked with the validators of the stored response", arguments: validators)
    func validation(fields: HeaderFields, expected: HeaderFields) {
        #expect(cached(fields).validationFields == expected)
        #expect(
            cached(fields).reuse(for: ["Cache-Control": "no-cache"], at: 1_000)
                == (expected.isEmpty ? .forward : .validate(expected)))
    }

    static let errors: [(String, String?, Int64, Bool)] = [
        ("max-age=60", nil, 1_060, false),
        ("max-age=60", nil, 1_059, true),
        ("max-age=60, stale-if-error=10", nil, 1_070, true),
        ("max-age=60, stale-if-error=10", nil, 1_071, false),
        ("max-age=60", "stale-if-error=10", 1_070, true),
        ("max-age=60, stale-if-error=100", "stale-if-error=10", 1_071, false),
        ("max-age=60, stale-if-error=10, must-revalidate", nil, 1_061, false),
        ("max-age=60, stale-if-error=10, no-cache", nil, 1_001, false),
        ("max-age=60, stale-if-error=10", "no-cache", 1_001, false),
    ]

    @Test("A stale response may replace an error (RFC 5861 §4)", arguments: errors)
    func staleIfError(response: String, request: String?, now: Int64, expected: Bool) {
        var fields = HeaderFields()
        fields[.cacheControl] = request
        #expect(Self.stored(response).mayReplaceError(for: fields, at: now) == expected)
    }
}
