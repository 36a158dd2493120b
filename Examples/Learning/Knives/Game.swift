import Foundation
import Purl
import PurlTesting

/// Ten small transfers, a knife and a clock: every move of the game is played, with a naive client and with Purl.
@MainActor
struct Game {
    /// A transfer that the player tries to spoil.
    private struct Transfer {
        /// What is special about its server, in words.
        let trait: String
        let first: String
        let second: String
        /// The server's answer with one of the two versions.
        let reply: @Sendable (_ text: String, _ isSecond: Bool) -> Reply

        init(
            _ trait: String, first: String = "The cat sat.", second: String = "The dog ran.",
            _ reply: @escaping @Sendable (_ text: String, _ isSecond: Bool) -> Reply
        ) {
            self.trait = trait
            self.first = first
            self.second = second
            self.reply = reply
        }
    }

    private nonisolated static func tag(_ isSecond: Bool) -> String { isSecond ? "\"v2\"" : "\"v1\"" }

    private nonisolated static let date = Date(timeIntervalSince1970: 1_700_000_000)

    private static let transfers: [Transfer] = [
        .init("The server names each version by a strong ETag.") { .text($0).entityTag(tag($1)) },
        .init("The server's ETags are weak: they do not promise the same bytes.") {
            .text($0).entityTag("W/" + tag($1))
        },
        .init("The server knows only when the file was changed.") { text, isSecond in
            .text(text).lastModified(date.addingTimeInterval(isSecond ? 3600 : 0))
        },
        .init("The server names no version at all.") { text, _ in .text(text) },
        .init("The server knows no ranges: it always sends all of the file.") {
            .text($0).entityTag(tag($1)).ignoringRange()
        },
        .init("The server ignores If-Range, and sends the rest of whatever it has.") {
            .text($0).entityTag(tag($1)).ignoringIfRange()
        },
        .init("The server sends the file in chunks, without its length.") {
            .text($0).entityTag(tag($1)).chunked(size: 5)
        },
        .init("The second version is longer.", second: "The dog ran home.") { .text($0).entityTag(tag($1)) },
        .init("The second version is shorter.", second: "No cat.") { .text($0).entityTag(tag($1)) },
        .init("The server sends the rest from one byte too far.") {
            .text($0).entityTag(tag($1)).range(.startShifted(by: 1))
        },
    ]

    /// What came of a move.
    private struct Move: Encodable {
        enum Result: String, Encodable {
            case right, wrong, failed
        }

        let result: Result
        let file: String
        let requests: [String]
    }

    private struct Moves: Encodable {
        /// While the client is away the file stays as it is, or changes.
        var naive: [Move] = []
        var purl: [Move] = []
    }

    private struct Plays: Encodable {
        let trait: String
        /// By the number of bytes after which the connection is cut.
        var moves: [Moves] = []
    }

    /// Plays every move.
    ///
    /// - Returns: What came of them, as JSON, and how many moves there are.
    static func play() async throws -> (json: Data, moves: Int) {
        var plays: [Plays] = []
        var count = 0
        for transfer in transfers {
            var all = Plays(trait: transfer.trait)
            for cut in 0...transfer.first.utf8.count {
                var moves = Moves()
                for changes in [false, true] {
                    moves.naive.append(try await play(transfer, cut, changes, isNaive: true))
                    moves.purl.append(try await play(transfer, cut, changes, isNaive: false))
                    count += 2
                }
                all.moves.append(moves)
            }
            plays.append(all)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try encoder.encode(plays), count)
    }

    /// Two launches: the connection of the first is cut, and the file may change before the second.
    private static func play(_ transfer: Transfer, _ cut: Int, _ changes: Bool, isNaive: Bool) async throws -> Move {
        let stage = try Stage()
        defer { stage.clear() }
        let loss = ServerGate()
        let whole = transfer.reply(transfer.first, false)
        let isCut = cut < transfer.first.utf8.count
        let first = isCut ? whole.stalled(afterBytes: cut, until: loss).cut(afterBytes: cut) : whole
        let url = stage.server.route(
            "/text", .sequence([first, changes ? transfer.reply(transfer.second, true) : whole]))
        let configuration = stage.configuration
        configuration.urlCache = nil
        let file = stage.folder.appendingPathComponent("text")
        for launch in 1...2 {
            if isNaive {
                NaiveResume(url, to: file, configuration: configuration).start()
            } else {
                CarefulResume(url, to: file, configuration: configuration).start()
            }
            if launch == 1, isCut {
                await stage.waitFor(bytes: cut)
                loss.open()
            }
            await stage.waitFor(.didComplete, times: launch)
            stage.turnClock(by: .seconds(1))
        }
        let text = String(decoding: (try? Data(contentsOf: file)) ?? Data(), as: UTF8.self)
        let isRight = text == transfer.first || text == transfer.second
        return Move(
            result: isRight ? .right : stage.lastError == nil ? .wrong : .failed, file: text, requests: stage.requests)
    }
}

extension Stage {
    /// The error of the task that has completed last.
    fileprivate var lastError: String? {
        trace.events.reduce(nil) { last, event in
            if case .completed(let error) = event.kind { error } else { last }
        }
    }

    /// The requests, each with what was asked for and the answer's status.
    fileprivate var requests: [String] {
        var requests: [String] = []
        for event in trace.events {
            switch event.kind {
            case .requestHead(let head):
                let conditions = head.fields.filter { ["Range", "If-Range"].contains($0.name) }
                    .map { "\($0.name): \($0.value)" }
                requests.append(([head.method] + conditions).joined(separator: ", "))
            case .responseHead(let head): requests[requests.count - 1] += " → \(head.status)"
            default: break
            }
        }
        return requests
    }
}
