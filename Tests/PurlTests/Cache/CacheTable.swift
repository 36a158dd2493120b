import Foundation
import Testing

/// One rule of RFC 9111, seen from both ends: two requests for the same URL, some seconds apart.
struct CacheRow: Sendable, CustomTestStringConvertible {
    let section: String
    /// The fields of the first response, whose content is "one".
    let first: KeyValuePairs<String, String>
    var status = 200
    var firstRequest: [String: String] = [:]
    /// Seconds until the second request.
    var wait: Int64 = 0
    var second: [String: String] = [:]
    /// The fields of the second response. A tag that is the first's makes it a 304; otherwise its content is "two".
    var later: KeyValuePairs<String, String> = [:]
    /// Every request the server saw, by what it was conditional on; "-" for nothing.
    let seen: [String]
    /// What the second request got.
    let got: String
    var gotStatus = 200
    var age: String?

    var testDescription: String { "\(section): \(first) \(second) after \(wait) s" }

    static let oldDate = "Sun, 06 Nov 1994 08:00:00 GMT"

    static let table: [CacheRow] = [
        // Fresh responses are used.
        CacheRow(
            section: "§4.2", first: ["Cache-Control": "max-age=60"], wait: 59, seen: ["-"], got: "one", age: "59"),
        CacheRow(section: "§4.2", first: ["Cache-Control": "max-age=60"], wait: 60, seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§4.2.1", first: ["Expires": "Sun, 06 Nov 1994 08:50:37 GMT"], wait: 59, seen: ["-"], got: "one",
            age: "59"),
        CacheRow(section: "§5.3", first: ["Expires": "0"], wait: 0, seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.2.2.10: not for private caches", first: ["Cache-Control": "s-maxage=60"], seen: ["-", "-"],
            got: "two"),
        CacheRow(
            section: "§4.2.2", first: ["Last-Modified": "Sat, 05 Nov 1994 08:49:37 GMT"], wait: 8_639, seen: ["-"],
            got: "one", age: "8639"),
        CacheRow(
            section: "§4.2.3", first: ["Cache-Control": "max-age=60", "Age": "50"], wait: 9, seen: ["-"], got: "one",
            age: "59"),
        CacheRow(
            section: "§4.2.3", first: ["Cache-Control": "max-age=60", "Age": "50"], wait: 10, seen: ["-", "-"],
            got: "two"),
        CacheRow(
            section: "§4.2.3", first: ["Cache-Control": "max-age=60", "Date": oldDate], seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§3: any status", first: ["Cache-Control": "max-age=60"], status: 404, wait: 1, seen: ["-"],
            got: "one", gotStatus: 404, age: "1"),
        CacheRow(
            section: "§3: any status", first: ["Cache-Control": "max-age=60"], status: 500, wait: 1, seen: ["-"],
            got: "one", gotStatus: 500, age: "1"),
        // What may not be stored.
        CacheRow(
            section: "§5.2.2.5", first: ["Cache-Control": "no-store, max-age=60"], seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.2.1.5", first: ["Cache-Control": "max-age=60"], firstRequest: ["Cache-Control": "no-store"],
            seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.2.2.7: private is for this cache", first: ["Cache-Control": "private, max-age=60"],
            seen: ["-"], got: "one", age: "0"),
        CacheRow(
            section: "§4.1", first: ["Cache-Control": "max-age=60", "Vary": "*"], seen: ["-", "-"], got: "two"),
        // Other requests than the one it answered.
        CacheRow(
            section: "§4.1", first: ["Cache-Control": "max-age=60", "Vary": "Accept-Language"],
            firstRequest: ["Accept-Language": "de"], second: ["Accept-Language": "de"], seen: ["-"], got: "one",
            age: "0"),
        CacheRow(
            section: "§4.1", first: ["Cache-Control": "max-age=60", "Vary": "Accept-Language"],
            firstRequest: ["Accept-Language": "de"], second: ["Accept-Language": "fr"], seen: ["-", "-"],
            got: "two"),
        CacheRow(
            section: "§4.1: the client's own fields count",
            first: ["Cache-Control": "max-age=60", "Vary": "User-Agent"],
            second: ["User-Agent": "other"], seen: ["-", "-"], got: "two"),
        // What the request wants.
        CacheRow(
            section: "§5.2.1.1", first: ["Cache-Control": "max-age=60"], wait: 11,
            second: ["Cache-Control": "max-age=10"], seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.2.1.2", first: ["Cache-Control": "max-age=60"], wait: 70,
            second: ["Cache-Control": "max-stale=10"], seen: ["-"], got: "one", age: "70"),
        CacheRow(
            section: "§5.2.1.3", first: ["Cache-Control": "max-age=60"], wait: 41,
            second: ["Cache-Control": "min-fresh=20"], seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.2.1.4", first: ["Cache-Control": "max-age=60"], second: ["Cache-Control": "no-cache"],
            seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.4", first: ["Cache-Control": "max-age=60"], second: ["Pragma": "no-cache"],
            seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§5.2.1.7", first: ["Cache-Control": "max-age=60"], wait: 60,
            second: ["Cache-Control": "only-if-cached"], seen: ["-"], got: "", gotStatus: 504),
        CacheRow(
            section: "§5.2.1.7", first: ["Cache-Control": "max-age=60"],
            second: ["Cache-Control": "only-if-cached"], seen: ["-"], got: "one", age: "0"),
        CacheRow(
            section: "§5.2.1.7", first: ["Cache-Control": "no-store"],
            second: ["Cache-Control": "only-if-cached"], seen: ["-"], got: "", gotStatus: 504),
        // Asking whether it is still right.
        CacheRow(
            section: "§4.3.1", first: ["ETag": "\"1\""], later: ["ETag": "\"1\""],
            seen: ["-", "If-None-Match: \"1\""], got: "one"),
        CacheRow(
            section: "§4.3.1", first: ["ETag": "\"1\""], later: ["ETag": "\"2\""],
            seen: ["-", "If-None-Match: \"1\""], got: "two"),
        CacheRow(
            section: "§4.3.1", first: ["Last-Modified": oldDate, "Cache-Control": "no-cache"],
            later: ["Last-Modified": oldDate], seen: ["-", "If-Modified-Since: \(oldDate)"], got: "one"),
        CacheRow(
            section: "§5.2.2.4", first: ["ETag": "\"1\"", "Cache-Control": "no-cache, max-age=60"],
            later: ["ETag": "\"1\""], seen: ["-", "If-None-Match: \"1\""], got: "one"),
        CacheRow(
            section: "§5.2.2.2", first: ["ETag": "\"1\"", "Cache-Control": "must-revalidate, max-age=60"], wait: 60,
            second: ["Cache-Control": "max-stale"], later: ["ETag": "\"1\""],
            seen: ["-", "If-None-Match: \"1\""], got: "one"),
        // Conditions of the user's own.
        CacheRow(
            section: "§4.3: the user asks", first: ["ETag": "\"1\"", "Cache-Control": "max-age=60"],
            second: ["If-None-Match": "\"1\""], later: ["ETag": "\"1\""],
            seen: ["-", "If-None-Match: \"1\""], got: "", gotStatus: 304),
        CacheRow(
            section: "§4.3: the user asks about another", first: ["ETag": "\"1\"", "Cache-Control": "max-age=60"],
            second: ["If-None-Match": "\"0\""], later: ["ETag": "\"1\""],
            seen: ["-", "If-None-Match: \"0\""], got: "two"),
        CacheRow(
            section: "§3.3: a part is for the server", first: ["ETag": "\"1\"", "Cache-Control": "max-age=60"],
            second: ["Range": "bytes=1-1"], later: ["ETag": "\"1\""], seen: ["-", "-"], got: "w", gotStatus: 206),
        CacheRow(
            section: "§3.3: a part is not the whole", first: ["ETag": "\"1\"", "Cache-Control": "max-age=60"],
            status: 200, firstRequest: ["Range": "bytes=0-0"], seen: ["-", "-"], got: "two"),
    ]
}
