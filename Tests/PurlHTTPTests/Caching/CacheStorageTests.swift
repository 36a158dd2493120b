import PurlHTTP
import Testing

@Suite("Storing and invalidating (RFC 9111 §3 and §4.4)")
struct CacheStorageTests {
    static let storing: [(RequestMethod, HeaderFields, Int, HeaderFields, Bool)] = [
        ("GET", [:], 200, [:], true),
        ("GET", [:], 404, [:], true),
        ("GET", [:], 302, [:], false),
        ("GET", [:], 302, ["Cache-Control": "max-age=0"], true),
        ("GET", [:], 302, ["Cache-Control": "public"], true),
        ("GET", [:], 302, ["Cache-Control": "private"], true),
        ("GET", [:], 302, ["Cache-Control": "s-maxage=5"], false),
        ("GET", [:], 302, ["Expires": "0"], true),
        ("GET", [:], 500, [:], false),
        ("GET", [:], 500, ["Cache-Control": "max-age=5"], true),
        ("GET", [:], 206, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 304, ["Cache-Control": "max-age=5"], false),
        ("GET", ["Range": "bytes=9-"], 416, ["Cache-Control": "max-age=5", "Content-Range": "bytes */5"], false),
        ("GET", ["Range": "bytes=9-"], 416, ["Cache-Control": "max-age=5"], false),
        ("GET", ["If-Match": "\"1\""], 412, ["Cache-Control": "max-age=5"], false),
        ("GET", ["Expect": "x"], 417, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 428, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 429, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 431, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 511, ["Cache-Control": "max-age=5"], false),
        ("GET", ["Range": "bytes=0-1"], 200, ["Content-Range": "bytes 0-1/5"], false),
        ("GET", ["Range": "bytes=0-1"], 200, [:], true),
        ("GET", ["If-None-Match": "\"1\""], 200, [:], true),
        ("GET", [:], 101, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 999, ["Cache-Control": "max-age=5"], false),
        ("GET", [:], 200, ["Cache-Control": "no-store, max-age=5"], false),
        ("GET", ["Cache-Control": "no-store"], 200, [:], false),
        ("GET", [:], 200, ["Cache-Control": "no-cache"], true),
        ("GET", [:], 200, ["Vary": "*"], false),
        ("GET", [:], 200, ["Vary": "Accept"], true),
        ("GET", ["Authorization": "Basic Og=="], 200, [:], true),
        ("GET", [:], 200, ["Cache-Control": "must-understand, no-store"], true),
        ("GET", [:], 299, ["Cache-Control": "must-understand, no-store, max-age=5"], false),
        ("HEAD", [:], 200, [:], false),
        ("POST", [:], 200, ["Cache-Control": "max-age=5"], false),
        ("get", [:], 200, [:], false),
    ]

    @Test("A private cache stores what method, status and directives allow", arguments: storing)
    func mayStore(method: RequestMethod, request: HeaderFields, status: Int, fields: HeaderFields, expected: Bool) {
        #expect(
            CacheStorage.mayStore(method: method, requestFields: request, status: status, fields: fields) == expected)
    }

    @Test("Fields of the connection are not stored")
    func storedFields() {
        let fields: HeaderFields = [
            "ETag": "\"1\"", "Connection": "close, X-Hop", "x-hop": "1", "Keep-Alive": "timeout=5",
            "Proxy-Authenticate": "Basic", "Transfer-Encoding": "chunked", "Upgrade": "h2c", "Set-Cookie": "a=b",
            "set-cookie": "c=d", "TE": "x", "Trailer": "y",
        ]
        #expect(
            CacheStorage.storedFields(of: fields) == ["ETag": "\"1\"", "Set-Cookie": "a=b", "set-cookie": "c=d"])
    }

    static let methods: [(RequestMethod, Int, Bool)] = [
        ("GET", 200, false), ("HEAD", 200, false), ("OPTIONS", 200, false), ("TRACE", 200, false),
        ("POST", 200, true), ("PUT", 204, true), ("DELETE", 301, true), ("PATCH", 399, true), ("BREW", 200, true),
        ("get", 200, true), ("POST", 400, false), ("DELETE", 500, false), ("POST", 100, false),
    ]

    @Test("A successful unsafe method invalidates stored responses", arguments: methods)
    func invalidation(method: RequestMethod, status: Int, expected: Bool) {
        #expect(CacheStorage.invalidates(method: method, status: status) == expected)
    }

    @Test("Location and Content-Location are invalidated too")
    func references() {
        #expect(CacheStorage.invalidatedReferences(by: [:]).isEmpty)
        #expect(
            CacheStorage.invalidatedReferences(by: ["Content-Location": "/b", "Location": "http://h/a"])
                == ["http://h/a", "/b"])
    }
}

@Suite("Confirming a stored response (RFC 9111 §4.3.4)")
struct CacheValidationTests {
    static let confirmations: [(HeaderFields, HeaderFields, Bool)] = [
        (["ETag": "\"1\""], ["ETag": "\"1\""], true),
        (["ETag": "\"1\""], ["ETag": "\"2\""], false),
        (["ETag": "W/\"1\""], ["ETag": "\"1\""], false),
        (["ETag": "\"1\""], ["ETag": "W/\"1\""], true),
        (["ETag": "W/\"1\""], ["ETag": "W/\"1\""], true),
        ([:], ["ETag": "\"1\""], false),
        (["ETag": "\"1\""], [:], true),
        (["Last-Modified": date(5)], ["Last-Modified": date(5)], true),
        (["Last-Modified": date(5)], ["Last-Modified": date(6)], false),
        ([:], ["Last-Modified": date(6)], false),
        ([:], [:], true),
    ]

    @Test("A 304 confirms the response with its validator", arguments: confirmations)
    func confirms(stored: HeaderFields, notModified: HeaderFields, expected: Bool) {
        #expect(cached(stored).isConfirmed(by: notModified) == expected)
    }

    @Test("The fields of a 304 replace the stored ones except those of the content and of the connection")
    func update() {
        let stored = cached([
            "Date": date(1_000), "ETag": "\"1\"", "Content-Length": "100", "Content-Encoding": "gzip", "X": "1",
            "x": "2", "Y": "stays", "Age": "50", "Cache-Control": "max-age=10",
        ])
        let updated = stored.updated(
            by: [
                "Date": date(2_000), "Content-Length": "0", "Content-Encoding": "br", "Connection": "close, Z",
                "X": "3", "Z": "hop", "New": "a", "new": "b", "Cache-Control": "max-age=60",
            ], requestTime: 1_999, responseTime: 2_000)
        #expect(updated.fields[.date] == date(2_000))
        #expect(updated.fields[.etag] == "\"1\"")
        #expect(updated.fields[.contentLength] == "100")
        #expect(updated.fields[.contentEncoding] == "gzip")
        #expect(updated.fields["X"] == "3")
        #expect(updated.fields["Y"] == "stays")
        #expect(updated.fields.values(of: "New") == ["a", "b"])
        #expect(!updated.fields.contains(.connection))
        #expect(!updated.fields.contains("Z"))
        #expect(!updated.fields.contains(.age))
        #expect(updated.status == 200)
        #expect(!stored.isFresh(at: 2_030))
        #expect(updated.isFresh(at: 2_030))
    }

    @Test("A 304 without a date confirms a response")
    func updateWithoutDate() {
        let stored = cached(["Date": date(1_000), "Cache-Control": "max-age=10"])
        let updated = stored.updated(by: [:], requestTime: 5_000, responseTime: 5_000)
        #expect(!stored.isFresh(at: 5_005))
        #expect(updated.isFresh(at: 5_005))
    }
}
