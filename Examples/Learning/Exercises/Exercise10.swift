import Foundation

/// Which of several downloads may run.
protocol DownloadSlots {
    /// - Parameters:
    ///   - total: How many run at a time.
    ///   - perHost: How many of them with the same host.
    init(total: Int, perHost: Int)

    /// Adds a download, and returns those that start now.
    mutating func add(_ url: URL) -> [URL]

    /// A download has ended. Returns those that start now.
    mutating func end(_ url: URL) -> [URL]
}

/// Exercise 10: slots with a limit for each host, so that one slow server does not hold up all others.
///
/// Downloads start in the order in which they were added, but one whose host has no slot left does not hold up those behind it.
/// Here everything starts at once.
struct Exercise10: DownloadSlots {
    init(total: Int, perHost: Int) {}

    mutating func add(_ url: URL) -> [URL] { [url] }

    mutating func end(_ url: URL) -> [URL] { [] }
}
