import Foundation
import Purl

extension ParallelTransfer {
    /// Another server that has the same file, as something else proves: a digest of the whole, or of each piece.
    package struct Mirror: Sendable {
        let request: URLRequest
        let refuses: @Sendable (HTTPURLResponse, URLRequest) -> Bool

        /// - Parameters:
        ///   - request: The request for the whole.
        ///   - refuses: Whether a redirect to a request is not followed.
        package init(_ request: URLRequest, refuses: @escaping @Sendable (HTTPURLResponse, URLRequest) -> Bool) {
            self.request = request
            self.refuses = refuses
        }
    }

    /// What an owner may want to tell.
    package enum Event: Sendable, Equatable {
        /// These bytes were not what they have to be, and are requested again.
        case damaged(Range<Int64>)
        /// Nothing more is requested of this server.
        ///
        /// - Parameter reason: A sentence.
        case dropped(URL?, reason: String)
    }
}

/// The servers of one file, from which its ranges are requested at the same time: the leader's, and mirrors.
///
/// Each has a version of its own, which its first response to the request for a range names, and all later ones confirm. Before
/// that response only one connection to it is open. The connections are distributed evenly.
///
/// It is a value without a socket.
struct RangeServers: Sendable {
    /// The number of a server; the leader's is the first.
    typealias Number = Int

    static let leader: Number = 0

    /// What a connection requests ranges of.
    struct Server: Sendable {
        /// The URL that the program has given, without a mark. Redirects may lead elsewhere.
        let url: URL?
        /// The request for the whole.
        var request: URLRequest
        /// What proves its version; `nil` before it is known.
        var proof: RangeProof?
        fileprivate var standing = Standing.untried
        /// Whether a redirect to a request is not followed.
        let refuses: @Sendable (HTTPURLResponse, URLRequest) -> Bool

        fileprivate init(
            _ request: URLRequest, _ proof: RangeProof? = nil,
            refuses: @escaping @Sendable (HTTPURLResponse, URLRequest) -> Bool = { _, _ in true }
        ) {
            url = request.url.map(JoinedBytes.origin)
            self.request = request
            self.proof = proof
            self.refuses = refuses
        }
    }

    fileprivate enum Standing {
        /// It has not proved that it has ranges.
        case untried
        case confirmed
        /// It sends the whole, and no ranges.
        case whole
        case dropped
    }

    private var servers: [Server]
    /// Which server a reader reads from, also after its end.
    private var numbers: [RangePlan.Reader: Number] = [RangedFile.leader: leader]

    /// - Parameter isConfirmed: Whether the leader's server has proved that it has ranges.
    init(leader request: URLRequest, _ proof: RangeProof, isConfirmed: Bool, mirrors: [ParallelTransfer.Mirror] = []) {
        var first = Server(request, proof)
        if isConfirmed { first.standing = .confirmed }
        servers = [first] + mirrors.map { Server($0.request, refuses: $0.refuses) }
    }

    subscript(number: Number) -> Server { servers[number] }

    /// Whether bytes of another server than the leader's may be in the file.
    var isMixed: Bool { numbers.contains { $0.value != Self.leader } }

    private var usable: [Number] {
        servers.indices.filter { number in
            switch servers[number].standing {
            case .untried, .confirmed: true
            case .whole, .dropped: false
            }
        }
    }

    /// Whether ranges may be requested of one.
    var haveRanges: Bool { !usable.isEmpty }

    /// Where the next connection is opened; `nil` when that has to wait for one that is open, or there is no server left.
    ///
    /// - Parameters:
    ///   - slots: How many connections may be open at all servers together.
    ///   - open: The readers whose connections are open.
    func next(of slots: Int, open: [RangePlan.Reader]) -> Number? {
        let usable = usable
        guard !usable.isEmpty else { return nil }
        let share = (slots + usable.count - 1) / usable.count
        let counts = Dictionary(grouping: open) { numbers[$0] }.mapValues(\.count)
        // The leader's own connection proves nothing about ranges.
        let proving = Set(open.filter { $0 != RangedFile.leader }.map { numbers[$0] })
        return usable.filter { number in
            switch servers[number].standing {
            case .untried: !proving.contains(number)
            case .confirmed: counts[number, default: 0] < share
            case .whole, .dropped: false
            }
        }.min { counts[$0, default: 0] < counts[$1, default: 0] }
    }

    /// A connection to a server is opened.
    mutating func open(_ reader: RangePlan.Reader, at number: Number) { numbers[reader] = number }

    /// A server has proved that it has ranges of a version.
    ///
    /// - Returns: Whether that is new.
    mutating func confirm(_ number: Number, _ proof: RangeProof, _ request: URLRequest?) -> Bool {
        guard case .untried = servers[number].standing else { return false }
        servers[number].standing = .confirmed
        servers[number].proof = proof
        if let request, number != Self.leader { servers[number].request = request }
        return true
    }

    /// No more ranges are requested of the leader's server, which may continue to send the whole.
    mutating func leaderHasNoRanges() {
        if servers[Self.leader].standing != .dropped { servers[Self.leader].standing = .whole }
    }

    /// Nothing more is requested of a server.
    ///
    /// - Returns: Whether that is new.
    mutating func drop(_ number: Number) -> Bool {
        guard servers[number].standing != .dropped else { return false }
        servers[number].standing = .dropped
        return true
    }

    func isDropped(_ number: Number) -> Bool { servers[number].standing == .dropped }

    /// The server that alone has brought a wrong piece, if another one may have the right one.
    func culprit(of readers: Set<RangePlan.Reader>) -> Number? {
        let found = Set(readers.map { numbers[$0] })
        guard found.count == 1, let number = found.first ?? nil, usable.contains(where: { $0 != number }) else {
            return nil
        }
        return number
    }
}
