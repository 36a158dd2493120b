import Foundation
import Purl

/// Where downloads keep their files and how they behave; a value.
public struct DownloadConfiguration: Sendable {
    /// Where finished files go. By default the user's caches, the program's name, `Downloads`.
    public var finishedDirectory: URL
    /// Where unfinished files, their records and the list of downloads lie. By default beside the finished ones, in
    /// `Unfinished`.
    public var unfinishedDirectory: URL
    /// How many downloads of a manager transfer at the same time; less than 1 means 1. The others wait in order.
    public var maximumConcurrentDownloads = 4
    /// When a transfer that failed is tried again.
    public var retryPolicy = RetryPolicy()
    /// How requests are made. Copied when the manager or downloader is made.
    public var session: URLSessionConfiguration = .default

    /// The default folders, made when they are first needed, for their owner only.
    public init() {
        let home = UserDirectories.caches
            .appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
        self.init(
            finishedDirectory: home.appendingPathComponent("Downloads", isDirectory: true),
            unfinishedDirectory: home.appendingPathComponent("Unfinished", isDirectory: true))
    }

    /// Folders of your own, made when they are first needed. They should be on one file system: a finished file is
    /// then renamed; otherwise it is copied.
    public init(finishedDirectory: URL, unfinishedDirectory: URL) {
        self.finishedDirectory = finishedDirectory
        self.unfinishedDirectory = unfinishedDirectory
    }
}
