import Foundation
import Purl
import PurlTrace

/// A scene that is played once for each place at which something can go wrong.
struct Knife: Sendable {
    /// What came of a play.
    struct Outcome: Sendable, Equatable {
        /// In words.
        let words: String
        /// Whether the file, or what was sent, is right.
        let isRight: Bool
    }

    /// A play: what happened, and what came of it.
    struct Play: Sendable {
        /// Where the knife fell.
        let cut: Int
        let film: Film
        let outcome: Outcome
    }

    /// The page on which it is.
    enum Place: Sendable, Hashable {
        case lesson(Int)
        case article(library: String, name: String)
    }

    /// What it does at a byte of the body.
    enum Blade: Sendable {
        /// Cuts the connection.
        case connection
        /// Kills the process when so many bytes are written.
        case process
        /// Changes the file on the server from this byte on, while the client is away.
        case file

        /// What the slider chooses.
        var label: String {
            switch self {
            case .connection: "Where the connection is cut"
            case .process: "When the process is killed"
            case .file: "From where the file changes on the server"
            }
        }
    }

    /// The file name of its pages, without the place of the knife.
    let name: String
    let title: String
    let place: Place
    let blade: Blade
    /// Where it falls, in bytes of the body, from the first to the last, at which nothing goes wrong.
    let cuts: [Int]
    private let play: @MainActor @Sendable (Stage, Int) async throws -> Outcome

    /// - Parameters:
    ///   - name: The file name of its pages.
    ///   - cuts: At which bytes of the body it falls; at the last nothing goes wrong.
    ///   - play: Plays the scene with one of the cuts.
    init(
        _ name: String, _ title: String, on place: Place, _ blade: Blade = .connection, cuts: [Int],
        play: @escaping @MainActor @Sendable (Stage, Int) async throws -> Outcome
    ) {
        self.name = name
        self.title = title
        self.place = place
        self.blade = blade
        self.cuts = cuts
        self.play = play
    }

    /// All of them.
    static let all: [Knife] = [
        .resuming, .naiveFiles, .files, .naiveChange, .change, .failures, .kill, .uploads,
    ]

    /// Whether its program is one that can make a wrong file.
    var isNaive: Bool { name.hasPrefix("naive-") }

    /// Plays it with one cut, on a stage of its own.
    @MainActor
    func run(cut: Int) async throws -> Play {
        let stage = try Stage()
        defer { stage.clear() }
        let outcome = try await play(stage, cut)
        let film = Film(title: "\(title): \(words(cut))", recording: stage.trace.recording, printed: stage.lines)
        return Play(cut: cut, film: film, outcome: outcome)
    }

    /// The place in words.
    func words(_ cut: Int) -> String {
        let isLast = cut == cuts.last
        switch blade {
        case .connection: return isLast ? "no cut" : "cut after \(cut) of \(cuts.last ?? 0) bytes"
        case .process: return isLast ? "not killed" : "killed after \(cut) of \(cuts.last ?? 0) bytes"
        case .file: return isLast ? "no change" : "another file from byte \(cut) on"
        }
    }
}

extension Stage {
    /// How many bytes of bodies were received so far.
    var receivedBytes: Int {
        trace.events.reduce(0) { sum, event in
            if case .bodyReceived(let piece) = event.kind { sum + piece.count } else { sum }
        }
    }

    /// How many requests were sent.
    var requestCount: Int {
        trace.events.count { if case .requestHead = $0.kind { true } else { false } }
    }

    /// Returns when the head of a response and `count` bytes of bodies have been received.
    ///
    /// - Parameter method: The delegate's method that has returned by then, unless there are no bytes.
    func waitFor(bytes count: Int, in method: TransferTrace.DelegateMethod? = nil) async {
        await waitFor { if case .responseHead = $0.kind { true } else { false } }
        while receivedBytes < count { await Self.pause() }
        if let method, count > 0 { await waitFor(method) }
    }
}
