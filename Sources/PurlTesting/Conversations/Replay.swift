import Foundation
internal import PurlHTTP
internal import PurlIO

/// How far the replay of a ``Conversation`` has come. Any thread.
public final class Replay: Sendable {
    private struct State: Sendable {
        var waiting: [Script]
        var problems: [String] = []
    }

    /// An exchange, its request taken apart.
    private struct Script: Sendable {
        let request: RecordedRequest
        let exchange: Conversation.Exchange
    }

    private let ignored: Set<String>
    private let state: Watched<State>

    init(_ conversation: Conversation, ignoring names: Set<String>) {
        ignored = Set(names.map { $0.lowercased() })
        state = Watched(
            State(
                waiting: conversation.exchanges.map {
                    Script(request: RecordedRequest($0.request), exchange: $0)
                }))
    }

    /// What was asked otherwise than it is recorded, one sentence each. Such a request got a `500` with its sentence.
    public var problems: [String] { state.read(\.problems) }

    /// How many exchanges have not taken place yet.
    public var remaining: Int { state.read(\.waiting.count) }

    /// Returns when every exchange has taken place.
    public func waitUntilFinished() async {
        await state.wait { $0.waiting.isEmpty }
    }

    /// The answer to a request: that of the first exchange still waiting for it. Requests may overtake each other, as
    /// they do on several connections.
    func answer(_ request: ReceivedRequest) -> Reply {
        let asked = RecordedRequest(request)
        return state.update { state in
            guard let position = state.waiting.firstIndex(where: { $0.request.line == asked.line }) else {
                let expected = state.waiting.first.map { "“\($0.request.line)” is recorded" } ?? "all is said"
                return refuse("“\(asked.line)” was asked, where \(expected)", &state)
            }
            let script = state.waiting[position]
            if let difference = script.request.difference(from: asked, ignoring: ignored) {
                return refuse("“\(asked.line)”: \(difference)", &state)
            }
            state.waiting.remove(at: position)
            return .raw([script.exchange.answer], then: script.exchange.ending)
        }
    }

    private func refuse(_ problem: String, _ state: inout State) -> Reply {
        state.problems.append(problem)
        return .text(problem + "\n").status(500)
    }
}

extension LoopbackServer {
    /// Answers, where no route is for a request, as the conversation says, and checks what is asked: method, target, fields
    /// and body.
    ///
    /// ```swift
    /// let replay = server.replay(try Conversation(contentsOf: fixture))
    /// // … run the code under test against server.url …
    /// #expect(replay.problems == [])
    /// #expect(replay.remaining == 0)
    /// ```
    ///
    /// - Parameter names: Fields that are not compared. Those that say how long the body is never are.
    @discardableResult
    public func replay(
        _ conversation: Conversation, ignoring names: Set<String> = ["Host", "User-Agent"]
    ) -> Replay {
        let replay = Replay(conversation, ignoring: names)
        fallback(.computed { replay.answer($0) })
        return replay
    }
}
