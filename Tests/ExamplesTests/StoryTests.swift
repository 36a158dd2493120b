import Foundation
import Testing

@Suite("An example without arguments", .timeLimit(.minutes(5)))
struct StoryTests {
    @Test(
        "prints the lines that its page shows",
        arguments: [
            "PauseAndResume", "BackgroundDownload", "DataTaskToFile", "DownloadCenter", "OfflineResume",
            "ResumableUpload", "UnluckyOrders",
        ])
    func story(name: String) async throws {
        let folder = TemporaryFolder()
        let (code, lines) = try await ExampleProcess.run(name, in: folder)
        #expect(code == 0)
        let expected = try Page(name).output
        for (number, (line, expected)) in zip(lines, expected).enumerated() {
            try #require(line == expected, "line \(number + 1)")
        }
        #expect(lines.count == expected.count)
    }
}
