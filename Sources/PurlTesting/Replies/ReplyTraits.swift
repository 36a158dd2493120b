import Foundation
internal import PurlHTTP

/// Everything about a reply but its content: what the modifiers of ``Reply`` change.
struct ReplyTraits: Sendable {
    /// How the end of the body is marked.
    enum Delivery: Sendable {
        case length
        case chunked(Chunking)
        case untilClose
    }

    /// How a body is cut into chunks.
    struct Chunking: Sendable {
        let size: Int
        let chunkExtension: String?
        let trailers: HeaderFields
    }

    /// What a `Range` field does.
    enum RangeTreatment: Sendable {
        /// Nothing: the response is a 200.
        case ignored
        /// The response is a 416.
        case refused
        /// The response is a 416 without a `Content-Range`.
        case refusedWithoutLength
        /// Ranges are sent as `multipart/byteranges`, a single one, too.
        case multipart
    }

    /// What an `If-Range` field does.
    enum IfRangeTreatment: Sendable {
        case evaluated
        /// Nothing: the range is sent whether the validator is the current one or not.
        case ignored
        /// The whole content is sent whether the validator is the current one or not.
        case neverTrue
    }

    /// Which entity tag each response has.
    enum EntityTagRule: Sendable {
        case none
        case fixed(String)
        case each([String])
        case fresh

        /// The rule for the response `index` alone: its tag, or none.
        func settled(at index: Int) -> EntityTagRule {
            switch self {
            case .none, .fixed: self
            case .each(let tags): tags.isEmpty ? .none : .fixed(tags[min(index, tags.count - 1)])
            case .fresh: .fixed("\"answer-\(index)\"")
            }
        }
    }

    /// What happens to the connection after the response.
    enum Persistence: Sendable {
        case kept
        case closedAsAnnounced
        case closedUnannounced
    }

    /// A 1xx response before the final one.
    struct Interim: Sendable {
        let status: Int
        let fields: HeaderFields
    }

    var status = 200
    var reason: String?
    var contentType: String?
    var fields = HeaderFields()
    /// Fields set (or, with `nil`, removed) after all others.
    var replacements: [(name: FieldName, value: String?)] = []

    var entityTag = EntityTagRule.none
    var lastModified: HTTPDate?
    var honoursConditions = true
    var ifRange = IfRangeTreatment.evaluated
    var acceptRanges: String? = "bytes"
    var ranges: Limited<RangeTreatment>?
    var contentRangeFault: Limited<Reply.ContentRangeFault>?
    var rangeFault: Limited<Reply.RangeFault>?
    var lengthFault: Limited<Reply.LengthFault>?
    /// The status of a response with a part of the content.
    var partialStatus = 206

    var delivery = Delivery.length
    var bytesPerSecond: Int?
    var pieceSize: Int?
    var persistence = Persistence.kept
    var interim: [Interim] = []
    var faults: [Limited<PlannedFault>] = []

    var respondsBeforeBody = false
    var sendsContinue = true
    var bodyGate: ServerGate?

    /// Resolves everything that depends on how many responses were sent before.
    ///
    /// - Parameter index: The response's place among the reply's responses, from 0.
    mutating func settle(at index: Int) {
        entityTag = entityTag.settled(at: index)
        ranges = ranges?.settled(at: index)
        contentRangeFault = contentRangeFault?.settled(at: index)
        rangeFault = rangeFault?.settled(at: index)
        lengthFault = lengthFault?.settled(at: index)
        faults = faults.compactMap { $0.settled(at: index) }
    }
}

/// A value that holds for the first few responses only.
struct Limited<Value: Sendable>: Sendable {
    let value: Value
    /// For how many responses it holds.
    let times: Int

    /// The value for the response `index` (from 0) alone; `nil` when it does not hold for that one.
    func settled(at index: Int) -> Limited? {
        index < times ? Limited(value: value, times: .max) : nil
    }
}

/// A reply to one request: sequences, counts and everything else that depends on earlier responses are resolved.
struct ResolvedReply: Sendable {
    /// Where the response comes from.
    enum Source: Sendable {
        case content(Content)
        case echo
        case raw([Data], Reply.RawEnding)
        case webSocket(WebSocketScript)
        case stream(Data, StreamScript)
        case upload(UploadTarget)
        case computed(@Sendable (ReceivedRequest) async throws -> ResolvedReply)
    }

    var source: Source
    var traits = ReplyTraits()

    /// The reply with `changes`, resolved for the response `index`.
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
