import Foundation
import Purl
import PurlTrace

/// A scene that is played once for each place at which a connection can be cut.
struct Knife: Sendable {
    /// What came of a play.
    struct Outcome: Sendable {
        /// In words.
        let words: String
        /// Whether the file, or what was sent, is right.
        let isRight: Bool
    }

    /// A play: what happened, and what came of it.
    struct Play: Sendable {
        let cut: Int
        let film: Film
        let outcome: Outcome
    }

    /// The file name of its pages, without the place.
    let name: String
    let title: String
    /// The lesson on whose page it is; `nil` for none.
    let lesson: Int?
    /// The places, in bytes of the body, from the first to the last.
    let cuts: [Int]
    private let play: @MainActor @Sendable (Stage, Int) async throws -> Outcome

    /// - Parameters:
    ///   - name: The file name of its pages.
    ///   - cuts: After how many bytes of the body it cuts; the last is the whole body.
    ///   - play: Plays the scene with one of the cuts.
    init(
        _ name: String, _ title: String, lesson: Int?, cuts: [Int],
        play: @escaping @MainActor @Sendable (Stage, Int) async throws -> Outcome
    ) {
        self.name = name
        self.title = title
        self.lesson = lesson
        self.cuts = cuts
        self.play = play
    }

    /// All of them.
    static let all: [Knife] = [.resuming, .naiveFiles, .files, .failures, .uploads]

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
        guard let all = cuts.last, cut < all else { return "no cut" }
        return "cut after \(cut) of \(all) bytes"
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
        while receivedBytes < count { await Task.yield() }
        if let method, count > 0 { await waitFor(method) }
    }
}
