import Foundation
import Purl
import PurlDownloads

/// The URLs of one file in the order in which they are requested: an unfinished download is continued where its bytes came
/// from, then the others follow as they were given.
struct MirrorOrder {
    /// The URL to request. Bytes of several servers have one of their own: see ``JoinedBytes``.
    private(set) var current: URL
    private var rest: [URL]
    private let all: [URL]
    /// The servers that are asked at the same time; empty where one is asked after another.
    private var together: [URL] = []

    /// - Parameter recorded: The URL in the record of the bytes there are, if any.
    init(_ request: DownloadRequest, recorded: URL?) {
        let origin = recorded.map(JoinedBytes.origin(of:))
        let first = request.urls.contains { $0.absoluteString == origin?.absoluteString } ? recorded : nil
        current = first ?? request.url
        all = request.urls
        var used: Set = [JoinedBytes.origin(of: current).absoluteString]
        rest = request.urls.filter { used.insert($0.absoluteString).inserted }
    }

    /// The server's own URL, without the mark of joined bytes.
    var origin: URL { JoinedBytes.origin(of: current) }

    /// The servers that are asked for parts beside the current one.
    var simultaneous: [URL] { together.filter { $0.absoluteString != origin.absoluteString } }

    /// Lets servers send parts at the same time, whose bytes only this checksum proves.
    ///
    /// - Parameter some: Those that do, the current one among them; `nil` for all.
    mutating func joinAll(_ some: [URL]? = nil, under checksum: Checksum) {
        let servers = some ?? all
        guard servers.count > 1, servers.contains(where: { $0.absoluteString == origin.absoluteString }) else { return }
        together = servers
        join(under: checksum)
    }

    /// How many URLs follow.
    var otherCount: Int { rest.count }

    /// Moves to the next URL.
    mutating func moveOn() {
        if !rest.isEmpty { current = rest.removeFirst() }
    }

    /// The current server alone is asked for the whole, of which it has sent only a part.
    mutating func startOver() {
        current = origin
        together = []
    }

    /// Whether the bytes may be those of several servers.
    var isJoined: Bool { current != origin }

    /// The current server's bytes, and those of other ones, are joined.
    mutating func join(under checksum: Checksum) {
        current = JoinedBytes.url(of: origin, under: checksum.hexadecimal)
    }
}
