import Foundation
internal import PurlIO

/// How a task went: its requests, one after another, and how long it all took.
///
/// Handed to `urlSession(_:task:didFinishCollecting:)` right before the task's last call. Immutable, which is what makes
/// `@unchecked Sendable` true for the class itself.
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    /// Where a response came from.
    public enum ResourceFetchType: Int, Sendable {
        /// From a place that does not say.
        case unknown = 0
        /// From a server.
        case networkLoad = 1
        /// Pushed by a server; not with HTTP/1.1.
        @available(swift, deprecated: 6.1, message: "Server push is not supported")
        case serverPush = 2
        /// From the cache.
        case localCache = 3
    }

    /// How a name was looked up.
    public enum DomainResolutionProtocol: Int, Sendable {
        /// The system's resolver does not say. Always the case here.
        case unknown = 0
        case udp = 1
        case tcp = 2
        case tls = 3
        case https = 4
    }

    /// One for each request, in order: redirects that were followed, requests sent again with credentials or because an
    /// idle connection had died, and the last one. An answer of the cache has one, too.
    public let transactionMetrics: [URLSessionTaskTransactionMetrics]
    /// From the making of the task to its end.
    public let taskInterval: DateInterval
    /// How many redirects were followed.
    public let redirectCount: Int

    init(_ transactions: [TransactionRecord.Values], created: MonotonicTime, ended: MonotonicTime, redirects: Int) {
        let clock = WallClock()
        transactionMetrics = transactions.map { URLSessionTaskTransactionMetrics($0, notBefore: created, clock) }
        let start = clock.date(of: created)
        taskInterval = DateInterval(start: start, end: max(start, clock.date(of: ended)))
        redirectCount = redirects
    }

    open override var description: String {
        let lines = transactionMetrics.map { "\n    \($0)" }.joined()
        return "<\(Self.self)> { \(taskInterval.duration) s, redirects: \(redirectCount) }\(lines)"
    }
}
