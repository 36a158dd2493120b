import Foundation
import Purl
import PurlTrace

/// A program that is played on a stage, and the picture of what it did.
struct Scene: Sendable {
    /// The file name of its picture, without extension.
    let name: String
    let title: String
    let play: @MainActor @Sendable (Stage) async throws -> Void

    /// - Parameters:
    ///   - name: The file name of its picture, without extension.
    ///   - title: The title in the picture.
    ///   - play: Plays the scene, and returns when everything that the picture shows has happened.
    init(
        _ name: String, _ title: String, play: @escaping @MainActor @Sendable (Stage) async throws -> Void
    ) {
        self.name = name
        self.title = title
        self.play = play
    }

    /// Plays it on a stage of its own.
    @MainActor
    func run() async throws -> Film {
        let stage = try Stage()
        defer { stage.clear() }
        try await play(stage)
        return Film(title: title, recording: stage.trace.recording, printed: stage.lines)
    }
}

/// What is left of a scene that was played.
struct Film: Sendable {
    let title: String
    let recording: TransferTrace.Recording
    let printed: [String]

    var picture: String { Diagram(recording, title: title).svg }

    /// The calls of delegates and handlers in their order, a line each: the task, the method, what it was called with.
    var calls: [String] {
        let calls = recording.events.compactMap { event -> (task: Int?, call: TransferTrace.DelegateCall)? in
            guard case .began(let call) = event.kind else { return nil }
            return (event.task, call)
        }
        let width = calls.map(\.call.method.rawValue.count).max() ?? 0
        return calls.map { task, call in
            let method = call.method.rawValue
            let line = call.arguments.map { method.padded(to: width) + "  " + $0.words } ?? method
            return "task \(task ?? 0)  \(line)"
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
