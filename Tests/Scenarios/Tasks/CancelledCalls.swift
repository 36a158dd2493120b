import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// `async` calls whose Swift tasks are cancelled at any moment: each ends once, with the whole body or with `cancelled`, and
    /// leaves no file.
    static let cancelledCalls = Scenario("cancelled-calls") { world in
        let dice = Dice(world.seed, "cancelled-calls")
        let content = GeneratedContent(size: dice.number(0...100_000), seed: 3)
        let url = world.server("mirror.example").route("/film", .generated(content).entityTag("\"v1\""))
        let partials = world.computer("desk").home.appendingPathComponent("Partials", isDirectory: true)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.partialDownloadsDirectory = partials
        let session = URLSession(configuration: configuration)
        for number in 0..<dice.number(1...6) {
            let isDownload = dice.oneIn(2)
            let call = Task {
                guard isDownload else { return try await session.data(from: url).0 }
                let (file, _) = try await session.download(from: url)
                defer { try? FileManager.default.removeItem(at: file) }
                return try Data(contentsOf: file)
            }
            if !dice.oneIn(8) { try await world.sleep(for: dice.moment()) }
            call.cancel()
            do {
                try require(try await call.value == content.data, "call \(number) has another body")
            } catch let error as URLError {
                try require(error.code == .cancelled, "call \(number): \(error)")
                try require(error.failingURL == url, "call \(number) speaks of \(String(describing: error.failingURL))")
            }
        }
        session.finishTasksAndInvalidate()
        let left = (try? FileManager.default.contentsOfDirectory(atPath: partials.path)) ?? []
        try require(left.isEmpty, "left behind: \(left.sorted())")
    }
}
