import Foundation
import Purl
import PurlTesting
import PurlTrace
import Testing

@Suite("Diagrams", .timeLimit(.minutes(5)))
struct DiagramTests {
    @Test("Diagram and page of a redirected, paused, cut and resumed download are the same, byte for byte, in 20 runs")
    func determinism() async throws {
        let film = try Film()
        var options = TransferTrace.Options()
        options.startDate = Date(timeIntervalSince1970: 0)
        let first = try await film.run(options)
        let svg = Diagram(first, title: "A film").svg
        if let path = ProcessInfo.processInfo.environment["PURL_TRACE_FILM"] {
            try svg.write(toFile: path + ".svg", atomically: true, encoding: .utf8)
            try TextTrace(first).text.write(toFile: path + ".txt", atomically: true, encoding: .utf8)
            try first.json.write(to: URL(fileURLWithPath: path + ".json"))
        }
        for _ in 1..<20 {
            let next = try await film.run(options)
            #expect(TextTrace(next).lines == TextTrace(first).lines)
            #expect(Diagram(next, title: "A film").svg == svg)
            #expect(HTMLTrace(next, title: "A film").html == HTMLTrace(first, title: "A film").html)
        }
    }

    /// Pieces of a body, received or written, at the milliseconds; and a remark at the end, which says how long it has taken.
    private func recording(_ pieces: [(Double, TransferTrace.Kind)]) -> TransferTrace.Recording {
        let events = (pieces + [(1500, .note("the end"))]).map { milliseconds, kind in
            TransferTrace.Event(
                nanoseconds: Int64(milliseconds * 1_000_000), lane: .network, task: 1, exchange: 1, connection: 1,
                kind: kind)
        }
        return TransferTrace.Recording(startDate: Date(timeIntervalSince1970: 0), events: events)
    }

    @Test(
        "An arrow that stands for several says from when to when",
        arguments: [
            ([5.5, 60, 120, 156], "4 pieces, 4.0 kB, 5.5 to 156 ms"), ([0, 40], "2 pieces, 2.0 kB, 0 to 40 ms"),
            ([0.5, 0.5], "2 pieces, 2.0 kB<"), ([990, 1015], "2 pieces, 2.0 kB, 990 ms to 1.01 s"), ([3], "1.0 kB<"),
        ])
    func period(milliseconds: [Double], label: String) {
        let pieces = milliseconds.map { ($0, TransferTrace.Kind.bodyReceived(.init(count: 1000))) }
        #expect(Diagram(recording(pieces)).svg.contains(">\(label)"))
    }

    @Test("What is written after a pause is not drawn above what was received after it")
    func order() {
        let (received, written) = (
            TransferTrace.Kind.bodyReceived(.init(count: 1000)), TransferTrace.Kind.file(.write(1000))
        )
        let svg = Diagram(
            recording([
                (0, received), (10, received), (15, written), (60, written), (120, received), (130, written),
                (140, written),
            ])
        ).svg
        let titles = svg.matches(of: /<g class="\w+"><title>([^<,]*)/).map { String($0.1) }
        #expect(titles == ["receives 2 pieces", "writes 2 pieces", "receives 1.0 kB", "writes 2 pieces", "the end"])
    }
}
