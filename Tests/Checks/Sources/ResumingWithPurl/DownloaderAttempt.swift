import Foundation
import PurlDownloads

/// A `Downloader`, which keeps what it needs to resume in its folder of unfinished downloads.
enum DownloaderAttempt {
    static func run(_ url: URL, in folder: URL, connections: Int) async throws {
        var configuration = DownloadConfiguration(
            finishedDirectory: folder.appendingPathComponent("finished", isDirectory: true),
            unfinishedDirectory: folder.appendingPathComponent("unfinished", isDirectory: true))
        configuration.retryPolicy = .never
        configuration.connections = ConnectionCount(connections)
        configuration.session.timeoutIntervalForRequest = 2
        let downloader = Downloader(url: url, configuration: configuration)
        downloader.start()
        let file = try await downloader.file()
        try FileManager.default.moveItem(at: file, to: folder.appendingPathComponent("file"))
    }
}
