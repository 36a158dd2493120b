import Foundation
import PurlTesting
import Testing

@testable import Purl

@Suite("HTTP caching, seen from both ends (RFC 9111)", .timeLimit(.minutes(5)))
struct CacheRuleTests {
    /// Whether the caches keep everything in memory, or everything on disk.
    static let capacities: [(memory: Int, disk: Int)] = [(1 << 20, 0), (0, 1 << 20)]

    @Test("Each rule", arguments: CacheRow.table, capacities)
    func rule(row: CacheRow, capacity: (memory: Int, disk: Int)) async throws {
        let home = try CacheHome()
        let server = try LoopbackServer()
        let url = server.route("/", .sequence([reply("one", row.first, row.status), reply("two", row.later, 200)]))
        let session = home.session(home.cache(memory: capacity.memory, disk: capacity.disk))
        defer { session.invalidateAndCancel() }
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
