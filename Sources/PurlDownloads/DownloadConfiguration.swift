import Foundation
import Purl

/// Where downloads keep their files, how many run at a time, and how they are requested and retried.
public struct DownloadConfiguration: Sendable {
    /// The folder for finished files; by default `Downloads` in the program's folder in the user's caches.
    public var finishedDirectory: URL
    /// The folder for unfinished files, their records and the list of downloads; by default `Unfinished` beside the
    /// finished ones.
    public var unfinishedDirectory: URL
    /// How many downloads of a manager are transferred at the same time; less than 1 means 1. The others wait in order.
    public var maximumConcurrentDownloads = 4
    /// How many connections fetch one file at the same time; 1 by default.
    ///
    /// The first one requests the whole, or the rest of what is there. If its response has a length and a strong validator
    /// (RFC 9110 §8.8.1), the others request parts of the same version with `If-Range`, and a part counts only if the response
    /// confirms the validator, the range and the length of the whole. A server that sends anything else is asked for nothing
    /// more than one connection brings. What is shorter than 2 MiB is not divided.
    ///
    /// A number above the session's `httpMaximumConnectionsPerHost` raises that.
    public var connections: ConnectionCount = 1
    /// When a failed transfer is retried.
    public var retryPolicy = RetryPolicy()
    /// The configuration of the session that makes the requests, copied when the manager or downloader is created.
    ///
    /// A background session adds nothing to a manager's list, which any manager of the same folders restores with all bytes
    /// that have arrived. Its identifier belongs to one manager at a time: see ``DownloadManager/waitUntilIdle()``.
    ///
    /// One that waits for connectivity, as each background session does, also waits for a server that refuses connections: up to
    /// its `timeoutIntervalForResource`, before retries and mirrors follow.
    public var session: URLSessionConfiguration = .default

    /// The default folders, created when first needed, accessible to their owner only.
    public init() {
        let home = UserDirectories.caches
            .appendingPathComponent(UserDirectories.programName, isDirectory: true)
        self.init(
            finishedDirectory: home.appendingPathComponent("Downloads", isDirectory: true),
            unfinishedDirectory: home.appendingPathComponent("Unfinished", isDirectory: true))
    }

    /// Folders of your own, created when first needed. They may be the same one. They should be on one file system: then a
    /// finished file is renamed, otherwise it is copied.
    ///
    /// - Parameters:
    ///   - finishedDirectory: The folder for finished files.
    ///   - unfinishedDirectory: The folder for unfinished files, their records and the list of downloads.
    public init(finishedDirectory: URL, unfinishedDirectory: URL) {
        self.finishedDirectory = finishedDirectory
        self.unfinishedDirectory = unfinishedDirectory
    }
}
