import Foundation
import PurlSimulation
import PurlTesting

/// A file on a server, which is replaced by another version at some time.
struct Film: Sendable {
    /// What kind of server a seed has.
    enum Manner: CaseIterable, Sendable {
        case honest, dated, chunked, ignoringRangeOnce, ignoringIfRange, refusingIfRange, shortRanges, wrongStart,
            wrongTotal
        case endingEarly, noContentRange, notSatisfiableOnce, weak, unmarked, compressing

        /// Whether the server continues what it has begun, and says so.
        var resumes: Bool {
            switch self {
            case .honest, .dated, .ignoringIfRange, .shortRanges, .endingEarly: true
            case .chunked, .ignoringRangeOnce, .refusingIfRange, .wrongStart, .wrongTotal, .noContentRange: false
            case .notSatisfiableOnce, .weak, .unmarked, .compressing: false
            }
        }
    }

    let path: String
    let manner: Manner
    let versions: [GeneratedContent]

    init(_ dice: Dice, path: String = "/film", size: ClosedRange<Int> = 8_000...90_000) {
        self.path = path
        manner = dice.oneIn(4) ? .honest : dice.pick(Manner.allCases)
        let length = dice.number(size)
        // A new version of the same length is the harder one.
        let other = dice.oneIn(2) ? length : dice.number(size)
        versions = [length, other].map { GeneratedContent(size: $0, seed: UInt64(dice.index(below: 1 << 30))) }
    }

    func reply(_ version: Int) -> Reply {
        let reply = Reply.generated(versions[version])
        let tag = "\"v\(version)\""
        switch manner {
        case .honest: return reply.entityTag(tag)
        // A date counts where the server's own clock shows that it has passed (RFC 9110 §8.8.2.2).
        case .dated:
            return reply.lastModified(Date(timeIntervalSince1970: 1_800_000_000 + Double(version) * 86_400))
                .field("Date", "Tue, 01 Jan 2030 00:00:00 GMT")
        case .chunked: return reply.entityTag(tag).chunked(size: 3_000)
        case .ignoringRangeOnce: return reply.entityTag(tag).ignoringRange(times: 2)
        case .ignoringIfRange: return reply.entityTag(tag).ignoringIfRange()
        case .refusingIfRange: return reply.entityTag(tag).refusingIfRange()
        case .shortRanges: return reply.entityTag(tag).range(.shortened(to: 5_000), times: 3)
        case .wrongStart: return reply.entityTag(tag).range(.startShifted(by: 7), times: 3)
        case .wrongTotal: return reply.entityTag(tag).contentRange(.total(versions[version].size + 1), times: 3)
        // The end of the stream comes in the middle of the body, as from a server that is shut down.
        case .endingEarly: return reply.entityTag(tag).cut(afterBytes: versions[version].size / 2, times: 2)
        case .noContentRange: return reply.entityTag(tag).contentRange(.missing, times: 3)
        case .notSatisfiableOnce: return reply.entityTag(tag).rangeNotSatisfiable(times: 1)
        case .weak: return reply.entityTag("W/\(tag)").ignoringIfRange()
        case .unmarked: return reply.ignoringIfRange()
        case .compressing: return reply.entityTag(tag).field("Cache-Control", "no-transform").acceptRanges("none")
        }
    }

    /// Has the server send the first version, and the second one from some time on.
    ///
    /// - Parameter changes: Whether there is a second one.
    func serve(on server: Server, in world: World, _ dice: Dice, changes: Bool) -> URL {
        let url = server.route(path, reply(0))
        guard changes else { return url }
        let moment = dice.moment()
        Task {
            try await world.sleep(for: moment)
            world.note("\(path) has another version")
            server.route(path, reply(1))
        }
        return url
    }

    /// Fails unless the file is one version from its first byte to its last.
    func requireOneVersion(_ file: URL) throws {
        for version in versions where try version.matches(fileAt: file) { return }
        let data = try Data(contentsOf: file)
        let words = versions.map { version in
            version.firstDifference(from: data).map { "differs at \($0)" } ?? "is longer than \(data.count)"
        }
        throw Unmet("the file of \(data.count) bytes is of no version: \(words)")
    }

    /// Fails where a request asks for a part without saying of what.
    static func requireConditions(_ requests: [ReceivedRequest]) throws {
        for request in requests where request.fields["Range"] != nil {
            let condition = request.fields["If-Range"] ?? request.fields["If-Match"]
            try require(condition != nil, "request \(request.number) has a range and no condition")
            try require(condition?.hasPrefix("W/") == false, "request \(request.number) names a weak version")
        }
    }
}
