public import Foundation

/// What a route answers: content, then how it is described, delivered and spoiled.
///
/// A reply is a value. Begin with a content (``bytes(_:contentType:)``, ``generated(size:seed:)``, ``file(_:)`` …) and
/// add modifiers; each returns a changed copy:
///
/// ```swift
/// let reply = Reply.generated(size: 64 << 20)
///     .entityTag("\"v1\"")
///     .cut(afterBytes: 1_000_000, times: 2)
/// ```
///
/// Left alone, a reply is a `200` with `Content-Length`, kept-alive connection, and support for single byte ranges
/// and conditional requests. There is no `Date` and no `Server` field, so that answers are the same every time.
///
/// Where a modifier has a `times` argument it holds for the first so many answers: those of the route, or those of
/// its place in a ``sequence(_:)``. A modifier of a sequence holds for each of its members.
public struct Reply: Sendable {
    typealias Change = @Sendable (inout Traits) -> Void

    indirect enum Source: Sendable {
        case content(Content)
        case echo
        case raw([Data], RawEnding)
        case webSocket(WebSocketScript)
        case stream(Data, StreamScript)
        case sequence([Reply])
        case switching(Reply, after: Int, to: Reply)
        case computed(@Sendable (ReceivedRequest) async throws -> Reply)
    }

    /// What happens after the last piece of a raw reply.
    public enum RawEnding: Sendable, Hashable {
        /// The stream ends.
        case close
        /// The connection is reset.
        case reset
        /// The connection stays open and takes the next request.
        case keepOpen
    }

    private let source: Source
    private var changes: [Change] = []

    init(_ source: Source) {
        self.source = source
    }

    /// A copy with one more change. Later changes win.
    func changed(_ change: @escaping Change) -> Reply {
        var reply = self
        reply.changes.append(change)
        return reply
    }

    /// What the answer `index` (from 0) is.
    func resolved(at index: Int) -> ResolvedReply {
        original(at: index).applying(changes, at: index)
    }

    private func original(at index: Int) -> ResolvedReply {
        switch source {
        case .content(let content):
            return ResolvedReply(source: .content(content))
        case .echo:
            return ResolvedReply(source: .echo)
        case .raw(let pieces, let ending):
            return ResolvedReply(source: .raw(pieces, ending))
        case .webSocket(let script):
            return ResolvedReply(source: .webSocket(script))
        case .stream(let head, let script):
            return ResolvedReply(source: .stream(head, script))
        case .sequence(let replies):
            guard let last = replies.indices.last else { return Reply.status(404).resolved(at: index) }
            let position = min(index, last)
            return replies[position].resolved(at: index - position)
        case .switching(let first, let count, let second):
            return index < count ? first.resolved(at: index) : second.resolved(at: index - max(0, count))
        case .computed(let handler):
            return ResolvedReply(source: .computed { try await handler($0).resolved(at: index) })
        }
    }
}

// MARK: Contents

extension Reply {
    /// These bytes.
    public static func bytes(_ data: Data, contentType: String? = nil) -> Reply {
        let reply = Reply(.content(.data(data)))
        guard let contentType else { return reply }
        return reply.contentType(contentType)
    }

    /// This text as UTF-8, as `text/plain; charset=utf-8`.
    public static func text(_ text: String) -> Reply {
        bytes(Data(text.utf8), contentType: "text/plain; charset=utf-8")
    }

    /// A file as it is at the time of the request, read piece by piece while it is sent. `404` if it cannot be opened.
    public static func file(_ url: URL) -> Reply {
        Reply(.content(.file(url)))
    }

    /// ``GeneratedContent`` of `size` bytes.
    public static func generated(size: Int, seed: UInt64 = 0) -> Reply {
        generated(GeneratedContent(size: size, seed: seed))
    }

    /// Generated content.
    public static func generated(_ content: GeneratedContent) -> Reply {
        Reply(.content(.generated(content)))
    }

    /// No content, with this status.
    public static func status(_ status: Int, reason: String? = nil) -> Reply {
        Reply(.content(.empty)).status(status, reason: reason)
    }

    /// A redirect. `location` is written as it is: it may be relative, or nonsense.
    public static func redirect(_ status: Int = 302, to location: String) -> Reply {
        Reply.status(status).field("Location", location)
    }

    /// The request as the server got it: its first line, its fields and an empty line, then its body.
    public static var echo: Reply { Reply(.echo).contentType("text/plain; charset=utf-8") }

    /// These bytes on the wire and nothing else, each piece written by itself. For answers that are not HTTP.
    ///
    /// Modifiers that would change the answer do nothing. The method does not matter either: `HEAD` gets it all.
    public static func raw(_ pieces: [Data], then ending: RawEnding = .close) -> Reply {
        Reply(.raw(pieces, ending))
    }

    /// This text on the wire and nothing else.
    public static func raw(_ text: String, then ending: RawEnding = .close) -> Reply {
        raw([Data(text.utf8)], then: ending)
    }

    /// One reply after the other, one for each request; the last repeats. Without any: `404`.
    public static func sequence(_ replies: [Reply]) -> Reply {
        Reply(.sequence(replies))
    }

    /// What `handler` returns for the request, body included. It runs off the I/O thread; an error becomes a `500`
    /// with its description. The handler's task is cancelled when the client goes away.
    public static func computed(_ handler: @escaping @Sendable (ReceivedRequest) async throws -> Reply) -> Reply {
        Reply(.computed(handler))
    }

    /// This reply for the first `count` answers, `other` from then on: content, validators and all.
    public func switching(after count: Int, to other: Reply) -> Reply {
        Reply(.switching(self, after: count, to: other))
    }
}
