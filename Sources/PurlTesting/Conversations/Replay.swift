import Foundation
internal import PurlHTTP
internal import PurlIO

extension Conversation {
    /// The replay of a ``Conversation``, and how far it is. Any thread.
    public final class Replay: Sendable {
        private struct State: Sendable {
            var remaining: [RecordedExchange]
            var problems: [String] = []
        }

        private struct RecordedExchange: Sendable {
            let request: ComparableRequest
            let answer: Data
            let ending: Reply.RawEnding
        }

        private let ignored: Set<String>
        private let state: Monitor<State>

        fileprivate init(_ conversation: Conversation, ignoring names: Set<String>) {
            ignored = Set(names.map { $0.lowercased() })
            state = Monitor(
                State(
                    remaining: conversation.exchanges.map {
                        RecordedExchange(
                            request: ComparableRequest($0.request), answer: $0.answer, ending: $0.ending)
                    }))
        }

        /// How requests differed from the recorded ones, one sentence each. Such a request got a `500` with its
        /// sentence.
        public var problems: [String] { state.read(\.problems) }

        /// How many exchanges have not taken place yet.
        public var remaining: Int { state.read(\.remaining.count) }

        /// Returns when every exchange has taken place, or when the calling task is cancelled.
        public func waitUntilFinished() async {
            await state.wait { $0.remaining.isEmpty }
        }

        /// The reply to a request: the answer of the first remaining exchange with its method and target. Requests on
        /// several connections may arrive in another order than the recorded one.
        fileprivate func reply(to received: ReceivedRequest) -> Reply {
            let request = ComparableRequest(received)
            return state.update { state in
                guard let position = state.remaining.firstIndex(where: { $0.request.line == request.line }) else {
                    let expected =
                        state.remaining.first.map { "the next recorded one is “\($0.request.line)”" }
                        ?? "every recorded exchange has taken place"
                    return refuse("“\(request.line)” was requested, but \(expected)", &state)
                }
                let recorded = state.remaining[position]
                if let difference = recorded.request.difference(from: request, ignoring: ignored) {
                    return refuse("“\(request.line)”: \(difference)", &state)
                }
                state.remaining.remove(at: position)
                return .raw([recorded.answer], then: recorded.ending)
            }
        }

        private func refuse(_ problem: String, _ state: inout State) -> Reply {
            state.problems.append(problem)
            return .text(problem + "\n").status(500)
        }
    }
}

extension LoopbackServer {
    /// Replies to requests without a route with the recorded answers, and compares method, target, fields and body with the
    /// recorded requests.
    ///
    /// ```swift
    /// let replay = server.replay(try Conversation(contentsOf: fixture))
    /// // … run the code under test against server.url …
    /// #expect(replay.problems == [])
    /// #expect(replay.remaining == 0)
    /// ```
    ///
    /// - Parameters:
    ///   - conversation: What is recorded.
    ///   - names: Fields that are not compared. Those that frame the body, such as `Content-Length`, never are.
    /// - Returns: The replay, which collects differences.
    @discardableResult
    public func replay(
        _ conversation: Conversation, ignoring names: Set<String> = ["Host", "User-Agent"]
    ) -> Conversation.Replay {
        let replay = Conversation.Replay(conversation, ignoring: names)
        fallback(.computed { replay.reply(to: $0) })
        return replay
    }
}

/// The parts of a request that are compared with those of another.
private struct ComparableRequest: Sendable {
    /// Method and target.
    let line: String
    private let fields: HeaderFields
    private let body: Data

    init(_ request: ReceivedRequest) {
        line = "\(request.method) \(request.target)"
        var fields = HeaderFields()
        for field in request.fields { fields.append(FieldName(field.name), field.value) }
        self.fields = fields
        body = request.body
    }

    /// Parses a recorded request. Bytes that are not a request get a line that equals no request's.
    init(_ bytes: Data) {
        let bytes = [UInt8](bytes)
        var parser = RequestHeadParser()
        var offset = 0
        guard let head = try? parser.parse(bytes.span.bytes, from: &offset) else {
            line = "no request"
            fields = HeaderFields()
            body = Data()
            return
        }
        line = "\(head.method) \(head.target)"
        fields = head.fields
        body = Data(bytes[offset...])
    }

    /// How another request differs from this one.
    ///
    /// - Parameters:
    ///   - other: The other request.
    ///   - ignored: Lowercase names of fields that are not compared.
    /// - Returns: The first difference in words; `nil` without any.
    func difference(from other: ComparableRequest, ignoring ignored: Set<String>) -> String? {
        let own = comparable(ignoring: ignored)
        let others = other.comparable(ignoring: ignored)
        for name in Set(own.keys).union(others.keys).sorted() where own[name] != others[name] {
            return "\(name) is \(quoted(others[name])), recorded is \(quoted(own[name]))"
        }
        guard body != other.body else { return nil }
        let position = zip(body, other.body).enumerated().first { $1.0 != $1.1 }?.offset
        return "the body of \(other.body.count) bytes differs from the recorded \(body.count) at "
            + "\(position ?? min(body.count, other.body.count))"
    }

    /// Fields that frame the body: the client chooses them.
    private static let framing: Set<String> = ["content-length", "transfer-encoding", "connection", "expect"]

    private func comparable(ignoring ignored: Set<String>) -> [String: [String]] {
        var values: [String: [String]] = [:]
        for field in fields {
            let name = field.name.lowercased()
            if !ignored.contains(name), !Self.framing.contains(name) { values[name, default: []].append(field.value) }
        }
        return values
    }

    private func quoted(_ values: [String]?) -> String {
        values.map { "“\($0.joined(separator: "”, “"))”" } ?? "missing"
    }
}
