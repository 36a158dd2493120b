import Foundation
import PurlDownloads

/// Downloads files with a download manager, as a program does that may be killed at any moment: it asks for all of
/// them every time.
struct ManagerDownloads {
    private let urls: [URL]
    private let manager: DownloadManager

    init(_ urls: [URL], in home: URL) {
        self.urls = urls
        manager = DownloadManager(configuration: .fresh(in: home))
    }

    /// Returns where the files are once all are there.
    func run() async throws -> [URL] {
        let downloads = urls.map { manager.download($0) }
        var files: [URL] = []
        for download in downloads { files.append(try await download.file()) }
        manager.invalidate()
        return files
    }
}

extension DownloadConfiguration {
    /// Everything in one folder, and no failure is tried over.
    static func fresh(in folder: URL) -> DownloadConfiguration {
        var configuration = DownloadConfiguration(
            finishedDirectory: folder.appendingPathComponent("finished", isDirectory: true),
            unfinishedDirectory: folder.appendingPathComponent("unfinished", isDirectory: true))
        configuration.retryPolicy = .never
        return configuration
    }
}
