import Foundation
import Purl
import PurlTrace
import Testing

@Suite("Lanes of connections")
struct ConnectionLaneTests {
    private static let url = "http://mirror.example/film"

    /// A request on one connection, and its response.
    private struct Exchange {
        let connection: Int
        var url = ConnectionLaneTests.url
        var range: String?
        /// When the response is complete, in milliseconds after the request of the first exchange. Requests follow each other by
        /// one millisecond.
        var end = 100
    }

    private func recording(_ exchanges: [Exchange]) -> TransferTrace.Recording {
        var events: [(milliseconds: Int, number: Int, exchange: Exchange, kind: TransferTrace.Kind)] = []
        for (number, exchange) in exchanges.enumerated() {
            let fields = exchange.range.map { [TransferTrace.Field("Range", $0)] } ?? []
            let head = TransferTrace.RequestHead(
                url: exchange.url, method: "GET", target: "/film", fields: fields, byteCount: 100)
            events.append((number, number, exchange, .requestHead(head)))
            events.append((exchange.end, number, exchange, .responseEnd(connectionStays: true)))
        }
        let sorted = events.sorted { ($0.milliseconds, $0.number) < ($1.milliseconds, $1.number) }
        return TransferTrace.Recording(
            startDate: Date(timeIntervalSince1970: 0),
            events: sorted.map { event in
                TransferTrace.Event(
                    nanoseconds: Int64(event.milliseconds) * 1_000_000, lane: .network, task: event.number + 1,
                    exchange: event.number + 1, connection: event.exchange.connection, kind: event.kind)
            })
    }

    /// The names above the lanes of a diagram, from the left.
    private func lanes(_ recording: TransferTrace.Recording) -> [String] {
        Diagram(recording).svg.split(separator: "\n").filter { $0.hasPrefix("<text class=\"name\"") }.compactMap {
            line in
            line.split(separator: ">").dropFirst().first?.split(separator: "<").first.map(String.init)
        }
    }

    @Test("Connections that carry parts of one resource at the same time have a lane each, in pictures and in pages")
    func several() throws {
        let recording = recording([
            Exchange(connection: 1), Exchange(connection: 2, range: "bytes=1000-1999"),
            Exchange(connection: 3, range: "bytes=2000-2999"),
        ])
        let names = ["connection 1", "connection 2", "connection 3"]
        #expect(lanes(recording) == ["network thread"] + names)
        let lanes = try #require(HTMLTrace(recording).html.firstMatch(of: /"lanes":(\[[^\]]*\])/)?.1)
        #expect(try JSONDecoder().decode([String].self, from: Data(lanes.utf8)) == ["network thread"] + names)
        let lines = TextTrace(recording).lines
        #expect(lines.contains { $0.contains("task 2  connection 2  network   sends GET /film") })
        #expect(Diagram(recording).svg.contains("network thread to connection 3: "))
    }

    @Test(
        "All others share the lane of the server",
        arguments: [
            // One after another.
            [Exchange(connection: 1, end: 0), Exchange(connection: 2, range: "bytes=1000-")],
            // On one connection.
            [Exchange(connection: 1), Exchange(connection: 1, range: "bytes=1000-1999")],
            // The whole twice.
            [Exchange(connection: 1), Exchange(connection: 2)],
            // Two resources.
            [Exchange(connection: 1), Exchange(connection: 2, url: "http://mirror.example/other", range: "bytes=1-2")],
        ])
    private func one(exchanges: [Exchange]) {
        #expect(lanes(recording(exchanges)) == ["network thread", "server"])
        #expect(!TextTrace(recording(exchanges)).text.contains("connection 2"))
    }

    @Test("No picture has more than eight, and the others share one")
    func many() {
        let recording = recording((1...20).map { Exchange(connection: $0, range: "bytes=\($0)000-\($0)999") })
        #expect(
            lanes(recording) == ["network thread"] + (1...8).map { "connection \($0)" } + ["other connections"])
    }
}
