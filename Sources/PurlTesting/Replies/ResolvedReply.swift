import Foundation

/// A reply for one certain answer: sequences, counts and everything else that depends on earlier answers are decided.
struct ResolvedReply: Sendable {
    /// What the answer is made of.
    enum Source: Sendable {
        case content(Content)
        case echo
        case raw([Data], Reply.RawEnding)
        case webSocket(WebSocketScript)
        case stream(Data, StreamScript)
        case computed(@Sendable (ReceivedRequest) async throws -> ResolvedReply)
    }

    var source: Source
    var traits = Traits()

    /// Itself with `changes` made for the answer `index`.
    func applying(_ changes: [Reply.Change], at index: Int) -> ResolvedReply {
        var reply = self
        for change in changes { change(&reply.traits) }
        reply.traits.settle(at: index)
        if case .computed(let handler) = source {
            reply.source = .computed { try await handler($0).applying(changes, at: index) }
        }
        return reply
    }
}
