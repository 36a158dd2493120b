import PurlHTTP
import Testing

@Suite("Cache-Control, Age, Expires and Vary (RFC 9111 §5)")
struct CacheControlTests {
    @Test("Fields without a directive set none")
    func empty() {
        #expect(CacheControl([:]) == CacheControl(["Cache-Control": "x, y=1, =, \"\""]))
        #expect(CacheControl([:]).maxAge == nil)
    }

    static let numbers: [(String, Int64?)] = [
        ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age = 60", 60), ("max-age=0", 0),
        ("max-age=2147483648", 2_147_483_648), ("max-age=2147483649", 2_147_483_648),
        ("max-age=99999999999999999999", 2_147_483_648), ("public,max-age=1,max-age=2", 1), ("max-age=x, max-age=5", 0),
        // A broken number makes stale.
        ("max-age", 0), ("max-age=", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age=1s", 0),
        ("s-maxage=5", nil), ("x-max-age=5", nil), ("x=\"max-age=5, max-age=6\"", nil),
    ]

    @Test("Seconds are read up to their maximum; a broken `max-age` is 0", arguments: numbers)
    func maxAge(text: String, expected: Int64?) {
        #expect(CacheControl(["Cache-Control": text]).maxAge == expected)
    }

    static let stale: [(String, CacheControl.MaxStale?)] = [
        ("max-stale", .any), ("max-stale=10", .seconds(10)), ("max-stale=\"10\"", .seconds(10)), ("max-stale=x", nil),
        ("max-stale=, max-stale=7", .seconds(7)), ("no-store", nil),
    ]

    @Test("max-stale is read with and without seconds", arguments: stale)
    func maxStale(text: String, expected: CacheControl.MaxStale?) {
        #expect(CacheControl(["Cache-Control": text]).maxStale == expected)
    }

    @Test("All directives are read over several lines")
    func all() {
        let control = CacheControl([
            "Cache-Control": "No-Cache=\"Set-Cookie, X\", no-store,, no-transformer, only-if-cached",
            "cache-control": "must-revalidate, proxy-revalidate, must-understand, private=\"A\", public, immutable",
            "CACHE-CONTROL": "s-maxage=1, min-fresh=2, stale-if-error=3, stale-while-revalidate=4",
        ])
        #expect(control.noCache && control.noStore && control.onlyIfCached)
        #expect(!control.noTransform)
        #expect(control.mustRevalidate && control.proxyRevalidate && control.mustUnderstand)
        #expect(control.isPrivate && control.isPublic && control.immutable)
        #expect(control.sharedMaxAge == 1)
        #expect(control.minFresh == 2)
        #expect(control.staleIfError == 3)
        #expect(control.staleWhileRevalidate == 4)
    }

    @Test("Pragma counts only in requests without Cache-Control")
    func pragma() {
        #expect(CacheControl(request: ["Pragma": "x, No-Cache"]).noCache)
        #expect(!CacheControl(request: ["Pragma": "no-cache", "Cache-Control": "max-age=5"]).noCache)
        #expect(!CacheControl(["Pragma": "no-cache"]).noCache)
    }

    static let ages: [([String], Int64?)] = [
        ([], nil), (["5"], 5), (["5, 6"], 5), (["5", "6"], 5), (["x"], nil), (["-1"], nil), ([""], nil),
        (["99999999999999999999"], 2_147_483_648),
    ]

    @Test("The first valid Age counts", arguments: ages)
    func age(values: [String], expected: Int64?) {
        var fields = HeaderFields()
        for value in values { fields.append(.age, value) }
        #expect(fields.age == expected)
    }

    static let expiries: [(String?, Int64?)] = [
        (nil, nil), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("0", 0), ("-1", 0), ("", 0), ("tomorrow", 0),
    ]

    @Test("A broken Expires is in the past", arguments: expiries)
    func expires(value: String?, expected: Int64?) {
        var fields = HeaderFields()
        fields[.expires] = value
        #expect(fields.expires?.secondsSinceEpoch == expected)
    }

    static let variants: [(String?, HeaderFields, HeaderFields, Bool)] = [
        (nil, ["Accept": "a"], ["Accept": "b"], true),
        ("", ["Accept": "a"], ["Accept": "b"], true),
        ("*", [:], [:], false),
        ("Accept, *", ["Accept": "a"], ["Accept": "a"], false),
        ("accept", ["Accept": "a"], ["ACCEPT": "a"], true),
        ("accept", ["Accept": "a"], ["Accept": "b"], false),
        ("accept", ["Accept": "a"], [:], false),
        ("accept", [:], ["Accept": "a"], false),
        ("accept", [:], ["Accept": ""], false),
        ("accept", [:], [:], true),
        ("Accept, Cookie", ["Accept": "a", "Cookie": "b"], ["Cookie": "b", "Accept": "a"], true),
        ("Accept, Cookie", ["Accept": "a", "Cookie": "b"], ["Accept": "a", "Cookie": "c"], false),
        // The same list in one line or in two.
        ("accept", ["Accept": "a, b"], ["Accept": "a", "accept": "b"], true),
        ("accept", ["Accept": "a,b"], ["Accept": " a , b"], true),
    ]

    @Test("Vary compares the fields that it names", arguments: variants)
    func vary(value: String?, original: HeaderFields, new: HeaderFields, expected: Bool) {
        var fields = HeaderFields()
        fields[.vary] = value
        #expect(VaryList(fields).allows(new, after: original) == expected)
    }
}
