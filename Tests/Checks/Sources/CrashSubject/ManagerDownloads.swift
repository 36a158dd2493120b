import Foundation
import Purl
import PurlDownloads

/// Downloads files with a download manager, as a program does that may be killed at any moment: it starts all of
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
    /// Everything in one folder, and no retries.
    static func fresh(in folder: URL) -> DownloadConfiguration {
        var configuration = DownloadConfiguration(
            finishedDirectory: folder.appendingPathComponent("finished", isDirectory: true),
            unfinishedDirectory: folder.appendingPathComponent("unfinished", isDirectory: true))
        configuration.retryPolicy = .never
        return configuration
    }
}

/// A manager's download, which is started again after it failed.
final class ManagerAttempts: Attempts {
    private let url: URL
    private let configuration: DownloadConfiguration
    private let manager: DownloadManager

    init(at url: URL, in folder: URL) {
        self.url = url
        configuration = .fresh(in: folder)
        manager = DownloadManager(configuration: configuration)
    }

    var bytesRecorded: Int64? {
        let folder = configuration.unfinishedDirectory
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        guard let name = names.first(where: { $0.hasSuffix(".resume") }) else { return nil }
        let record = folder.appendingPathComponent(name)
        let bytes = record.deletingPathExtension().appendingPathExtension("part")
        return ResumeRecord(contentsOf: record, of: bytes)?.bytesReceived
    }

    func next() async throws -> URL {
        try await manager.download(url).file()
    }
}
