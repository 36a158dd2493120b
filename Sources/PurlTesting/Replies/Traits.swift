internal import PurlHTTP

/// Everything about an answer but its content: what the modifiers of ``Reply`` change.
struct Traits: Sendable {
    /// How the message's end is marked.
    enum Delivery: Sendable {
        case length
        case chunked(Chunking)
        case untilClose
    }

    /// How a chunked body is cut up.
    struct Chunking: Sendable {
        let size: Int
        let chunkExtension: String?
        let trailers: HeaderFields
    }

    /// What becomes of a `Range` field.
    enum RangeTreatment: Sendable {
        case ignored
        case refused
    }

    /// Which entity tag goes with which answer.
    enum EntityTagRule: Sendable {
        case none
        case fixed(String)
        case each([String])
        case fresh

        /// The tag of the answer `index`, decided for good.
        func settled(at index: Int) -> EntityTagRule {
            switch self {
            case .none, .fixed: self
            case .each(let tags): tags.isEmpty ? .none : .fixed(tags[min(index, tags.count - 1)])
            case .fresh: .fixed("\"answer-\(index)\"")
            }
        }
    }

    /// What happens to the connection after the answer.
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
    /// Fields set (or, with nil, removed) after all others.
    var replacements: [(name: FieldName, value: String?)] = []

    var entityTag = EntityTagRule.none
    var lastModified: HTTPDate?
    var honoursConditions = true
    var acceptRanges: String? = "bytes"
    var ranges: Limited<RangeTreatment>?
    var contentRangeFault: Limited<ContentRangeFault>?

    var delivery = Delivery.length
    var bytesPerSecond: Int?
    var pieceSize: Int?
    var persistence = Persistence.kept
    var interim: [Interim] = []
    var mishaps: [Limited<PlannedMishap>] = []

    var answersBeforeBody = false
    var sendsContinue = true
    var bodyGate: Gate?

    /// Decides everything that depends on how many answers came before, for the answer `index` (from 0).
    mutating func settle(at index: Int) {
        entityTag = entityTag.settled(at: index)
        ranges = ranges?.settled(at: index)
        contentRangeFault = contentRangeFault?.settled(at: index)
        mishaps = mishaps.compactMap { $0.settled(at: index) }
    }
}
