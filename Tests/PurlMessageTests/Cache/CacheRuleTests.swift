import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The rules of RFC 9111, seen from the client and the server", .timeLimit(.minutes(5)))
struct CacheRuleTests {
    private let home = CacheHome()

    /// Everything in memory, or everything on disk.
    static let capacities: [(memory: Int, disk: Int)] = [(1 << 20, 0), (0, 1 << 20)]

    @Test("Two requests are answered as the rule demands", arguments: CacheRow.table, capacities)
    func rule(row: CacheRow, capacity: (memory: Int, disk: Int)) async throws {
        let server = try LoopbackServer()
        let url = server.route("/", .sequence([reply("one", row.first, row.status), reply("two", row.later, 200)]))
        let session = home.session(home.cache(memory: capacity.memory, disk: capacity.disk))
        _ = try await session.data(for: request(url, row.firstRequest))
        home.clock.advance(by: row.wait)
        let (data, response) = try await session.data(for: request(url, row.second))
        let http = try #require(response as? HTTPURLResponse)
        #expect(String(decoding: data, as: UTF8.self) == row.got)
        #expect(http.statusCode == row.gotStatus)
        #expect(http.value(forHTTPHeaderField: "Age") == row.age)
        #expect(server.requests.map { condition($0) } == row.seen)
    }

    private func reply(_ text: String, _ fields: KeyValuePairs<String, String>, _ status: Int) -> Reply {
        var reply = Reply.text(text)
        for (name, value) in fields {
            switch name {
            case "ETag": reply = reply.entityTag(value)
            default: reply = reply.replacingField(name, value)
            }
        }
        if fields.contains(where: { $0 == ("Last-Modified", CacheRow.oldDate) }) {
            reply = reply.lastModified(Date(timeIntervalSince1970: 784_108_800))
        }
        return status == 200 ? reply : reply.status(status)
    }

    private func request(_ url: URL, _ fields: [String: String]) -> URLRequest {
        var request = URLRequest(url: url)
        request.allHTTPHeaderFields = fields
        return request
    }

    private func condition(_ request: ReceivedRequest) -> String {
        let found = ["If-None-Match", "If-Modified-Since"].flatMap { name in
            request.fields.values(name).map { "\(name): \($0)" }
        }
        return found.isEmpty ? "-" : found.joined(separator: ", ")
    }
}

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
    /// The condition of each request that the server received; "-" for none.
    let seen: [String]
    /// The body that the second request received.
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
        // Responses that may not be stored.
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
        // Requests that the stored response does not answer.
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
        // Directives of the request.
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
        // Validation.
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
        // Conditions of the caller's own.
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
        CacheRow(
            section: "§3: a range that cannot be had answers no other request", first: ["Cache-Control": "max-age=60"],
            status: 416, firstRequest: ["Range": "bytes=9-"], seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§3: a precondition that fails answers no other request", first: ["Cache-Control": "max-age=60"],
            status: 412, firstRequest: ["If-Match": "\"0\""], seen: ["-", "-"], got: "two"),
        CacheRow(
            section: "§3: a part is a part, whatever its status",
            first: ["Cache-Control": "max-age=60", "Content-Range": "bytes 0-2/9"], seen: ["-", "-"], got: "two"),
    ]
}
