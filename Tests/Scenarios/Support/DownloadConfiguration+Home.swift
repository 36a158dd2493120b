import Foundation
import PurlDownloads

extension DownloadConfiguration {
    /// Two folders in a computer's home.
    package init(in home: URL) {
        self.init(
            finishedDirectory: home.appendingPathComponent("Films", isDirectory: true),
            unfinishedDirectory: home.appendingPathComponent("Unfinished", isDirectory: true))
    }
}
