/// What all connections between a computer and a server share: bandwidth, and whether anything arrives.
///
/// Used on the thread of its simulation alone.
final class Link: @unchecked Sendable {
    enum Direction {
        case toServer, toClient
    }

    /// Until when nothing arrives; the simulation's time in nanoseconds.
    private(set) var cutUntil: Int64 = 0
    private var slowUntil: Int64 = 0
    private var bytesPerSecond: Int64 = 0
    private var busyUntil: [Direction: Int64] = [:]

    /// It is as fast as that from now on, when it is not slow for a while.
    func setRate(_ bytesPerSecond: Int64) {
        self.bytesPerSecond = bytesPerSecond
    }

    func cut(until time: Int64) {
        cutUntil = max(cutUntil, time)
    }

    func slow(until time: Int64) {
        slowUntil = max(slowUntil, time)
    }

    /// When bytes have left that are sent now: after those that any connection has sent before in this direction.
    func departure(of count: Int, at time: Int64, _ direction: Direction) -> Int64 {
        let rate = max(1, slowUntil > time ? bytesPerSecond / 500 : bytesPerSecond)
        let departure = max(busyUntil[direction] ?? 0, time) + Int64(count) * 1_000_000_000 / rate
        busyUntil[direction] = departure
        return departure
    }
}

/// What both directions of a connection share.
///
/// Used on the thread of its simulation alone.
final class Wire: @unchecked Sendable {
    /// How a connection no longer works.
    enum Break {
        /// Both sides learn of it.
        case reset
        /// Nothing arrives any more, and nobody learns of it.
        case silent
    }

    let number: Int
    let line: SimulatedNetwork.Line
    let link: Link
    private(set) weak var server: Server?
    private(set) var broken: Break?

    init(_ number: Int, _ line: SimulatedNetwork.Line, _ link: Link, _ server: Server) {
        self.number = number
        self.line = line
        self.link = link
        self.server = server
    }

    /// The connection no longer works.
    func end(_ how: Break) {
        broken = how
    }
}
