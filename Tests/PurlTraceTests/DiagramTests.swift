import Foundation
import Purl
import PurlTesting
import PurlTrace
import Testing

@Suite("Diagrams", .timeLimit(.minutes(5)))
struct DiagramTests {
    @Test("The diagram of a redirected, paused, cut and resumed download is the same, byte for byte, in twenty runs")
    func determinism() async throws {
        let film = try Film()
        let first = try await film.run()
        let svg = Diagram(first, title: "A film").svg
        if let path = ProcessInfo.processInfo.environment["PURL_TRACE_FILM"] {
            try svg.write(toFile: path + ".svg", atomically: true, encoding: .utf8)
            try TextTrace(first).text.write(toFile: path + ".txt", atomically: true, encoding: .utf8)
            try first.json.write(to: URL(fileURLWithPath: path + ".json"))
        }
        for _ in 1..<20 {
            let next = try await film.run()
            #expect(TextTrace(next).lines == TextTrace(first).lines)
            #expect(Diagram(next, title: "A film").svg == svg)
        }
    }
}
