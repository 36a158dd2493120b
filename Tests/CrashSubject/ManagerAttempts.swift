import Foundation
import Purl
import PurlDownloads

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
        let record = names.first { $0.hasSuffix(".resume") }
        return record.flatMap { ResumeRecord(contentsOf: folder.appendingPathComponent($0)) }?.bytesReceived
    }

    func next() async throws -> URL {
        try await manager.download(url).file()
    }
}
