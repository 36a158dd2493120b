/// How many connections fetch one file at the same time.
///
/// ```swift
/// var configuration = DownloadConfiguration()
/// configuration.connections = 8
/// ```
///
/// More than one are used only where the server proves for each of them that what it sends belongs to the same version; see
/// ``DownloadConfiguration/connections``.
public struct ConnectionCount: Sendable, Hashable, ExpressibleByIntegerLiteral, CustomStringConvertible {
    /// The most connections of one file.
    public static let maximum = 64
    /// The most connections that are opened to a host when their number is adaptive.
    static let adaptiveMaximum = 6

    /// The number; `nil` when it is adaptive.
    package let number: Int?
    /// A file is not divided into parts of less.
    package var leastShare = RangePlan.leastShare

    /// A fixed number of connections.
    ///
    /// - Parameter number: How many; less than 1 is 1, more than ``maximum`` is that.
    public init(_ number: Int) {
        self.number = min(max(1, number), Self.maximum)
    }

    /// The number that is written, from 1 to ``maximum``.
    public init(integerLiteral value: Int) { self.init(value) }

    private init() { number = nil }

    /// One connection, and one more as long as that makes the download at least a tenth faster; at most six.
    public static let adaptive = ConnectionCount()

    /// The number, or “adaptive”.
    public var description: String { number.map { String($0) } ?? "adaptive" }

    /// What pieces are digested for where nothing else is asked for: one connection leaves bytes whose end proves the others.
    package var checking: PieceChecking { limit > 1 ? .recorded : .found }

    /// The most connections that are opened.
    package var limit: Int { number ?? Self.adaptiveMaximum }
}
