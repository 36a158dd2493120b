import Foundation
import Purl
import PurlTesting
import Testing

@testable import Learning

@Suite("The manager of lesson 10", .timeLimit(.minutes(1)))
@MainActor
struct SmallDownloadManagerTests {
    private let folder = FileManager.default.temporaryDirectory
        .appendingPathComponent("purl-learning-\(UUID().uuidString)", isDirectory: true)

    @Test("What is cancelled, cleaned and at once wanted again is downloaded once more, and whole")
    func wantedAgain() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try LoopbackServer(.memory)
        let served = Reply.text("monday monday").entityTag("\"v1\"")
        let url = server.route("/paper", .sequence([served.stalled(afterBytes: 6), served]))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        configuration.connector = server.connector
        let manager = SmallDownloadManager(in: folder, limit: 1, configuration: configuration)
        let progress = AsyncStream<Int64>.makeStream()
        let states = AsyncStream<URLDownloader.State>.makeStream()
        manager.onState = { states.continuation.yield($0.state) }
        let downloader = manager.download(url)
        downloader.onProgress = { received, _ in progress.continuation.yield(received) }
        for await received in progress.stream where received == 6 { break }

        manager.cancelAndClean(url)
        #expect(manager.download(url) === downloader)
        var seen: [URLDownloader.State] = []
        for await state in states.stream {
            seen.append(state)
            if case .finished = state { break }
        }
        let file = downloader.place.finished
        #expect(seen == [.downloading, .ending, .idle, .downloading, .finished(file)])
        #expect(try String(contentsOf: file, encoding: .utf8) == "monday monday")
        #expect(server.requests.map { $0.fields["Range"] } == [nil, nil])
        // Finished: a new downloader finds the file.
        let next = manager.download(url)
        #expect(next !== downloader)
        #expect(next.state == .finished(file))
        manager.invalidate()
    }
}
