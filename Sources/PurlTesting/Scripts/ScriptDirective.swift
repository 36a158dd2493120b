import Foundation
internal import PurlHTTP

/// One line of a ``ServerScript`` below a `route`: what it sets, and for which requests.
struct ScriptStep: Sendable, Equatable {
    let selector: RequestSelector
    let directive: ScriptDirective
}

/// For which requests a line of a script holds.
struct RequestSelector: Sendable, Equatable {
    /// Which requests count.
    enum Kind: Sendable, Equatable {
        case all
        /// Those with a `Range`.
        case ranged
        /// Those without.
        case plain
    }

    /// Which of those that count, from 1.
    enum Turns: Sendable, Equatable {
        case all
        case numbers(ClosedRange<Int>)
        case every(Int)
    }

    var kind = Kind.all
    /// The connections, from 1 in the order of their first requests for the route; `nil`: any.
    var connections: ClosedRange<Int>?
    /// Where the requested range begins; `nil`: anywhere, or the request is for the whole.
    var starts: ClosedRange<Int>?
    /// Counted among the requests that agree with all of the above.
    var turns = Turns.all
    /// How many of a hundred such requests.
    var percent = 100
}

/// What one line of a ``ServerScript`` sets.
enum ScriptDirective: Sendable, Equatable {
    case generated(size: Int, seed: UInt64?)
    case text(Data)
    case file(String)
    case raw(Data)
    case status(Int, reason: String?)
    case redirect(Int, to: String)
    case interim(Int)
    case field(String, String)
    case replacing(String, String?)
    case entityTag(String?)
    case freshEntityTags
    case lastModified(HTTPDate?)
    case conditionsIgnored
    case ifRange(IfRange)
    case ranges(Ranges)
    case range(Reply.RangeFault)
    case partialStatus(Int)
    case contentRange(Reply.ContentRangeFault)
    case acceptRanges(String?)
    case contentLength(Reply.LengthFault)
    case chunked(Int)
    case untilClose
    case rate(Int)
    case pieces(Int)
    case close
    case fault(ScriptFault, at: ScriptPhase)
    case upload(UploadDirective)
    case webSocket(WebSocketDirective)

    /// What a `Range` field does.
    enum Ranges: Sendable, Equatable {
        case honoured
        case ignored
        case refused
        case refusedWithoutLength
        case multipart
    }

    /// What an `If-Range` field does.
    enum IfRange: Sendable, Equatable {
        case honoured
        case ignored
        case refused
    }
}

/// A ``Reply/Fault`` as a script can name it.
enum ScriptFault: Sendable, Equatable {
    case cut
    case reset
    case stall
    case pause(milliseconds: Int)
}

/// Where a fault of a script happens.
enum ScriptPhase: Sendable, Equatable {
    case at(Reply.Phase)
    /// Anywhere in the body, as the seed decides.
    case anywhere
}

extension ScriptDirective {
    /// What the directive is evaluated with.
    struct Context {
        /// The route's seed, for content that has none of its own.
        let seed: UInt64
        /// Where the paths of files begin.
        let folder: URL
        /// What stands for `{port}`.
        let port: String
        /// A number that follows from the seed, the line and the request.
        let random: UInt64
    }

    /// The content that the directive sets; `nil` for one that changes how content is sent.
    func content(_ context: Context) -> Reply? {
        switch self {
        case .generated(let size, let seed):
            .generated(size: size, seed: seed ?? context.seed)
        case .text(let data):
            .bytes(data)
        case .file(let path):
            .file(URL(fileURLWithPath: path, relativeTo: context.folder))
        case .raw(let data):
            .raw([data])
        case .status, .redirect, .interim, .field, .replacing, .entityTag, .freshEntityTags, .lastModified,
            .conditionsIgnored, .ifRange, .ranges, .range, .partialStatus, .contentRange, .acceptRanges, .contentLength,
            .chunked, .untilClose, .rate, .pieces, .close, .fault, .upload, .webSocket:
            nil
        }
    }

    /// Whether something goes wrong with the response by itself. A `HEAD`, which counts as no request, is spared.
    var isFault: Bool {
        if case .fault = self { true } else { false }
    }

    /// The reply as the directive changes it.
    func applied(to reply: Reply, _ context: Context) -> Reply {
        switch self {
        case .generated, .text, .file, .raw, .upload, .webSocket: reply
        case .status(let status, let reason): reply.status(status, reason: reason)
        case .redirect(let status, let location):
            reply.status(status).field("Location", location.replacing("{port}", with: context.port))
        case .interim(let status): reply.interim(status)
        case .field(let name, let value): reply.field(name, value)
        case .replacing(let name, let value): reply.replacingField(name, value)
        case .entityTag(let tag): reply.entityTags(tag.map { [$0] } ?? [])
        case .freshEntityTags: reply.freshEntityTags()
        case .lastModified(let date): reply.lastModified(date)
        case .conditionsIgnored: reply.ignoringConditions()
        case .ifRange(.honoured): reply
        case .ifRange(.ignored): reply.ignoringIfRange()
        case .ifRange(.refused): reply.refusingIfRange()
        case .ranges(.honoured): reply.ignoringRange(times: 0)
        case .ranges(.ignored): reply.ignoringRange()
        case .ranges(.refused): reply.rangeNotSatisfiable()
        case .ranges(.refusedWithoutLength): reply.rangeNotSatisfiableWithoutLength()
        case .ranges(.multipart): reply.multipartRanges()
        case .range(let fault): reply.range(fault)
        case .partialStatus(let status): reply.partialStatus(status)
        case .contentRange(let fault): reply.contentRange(fault)
        case .acceptRanges(let value): reply.acceptRanges(value)
        case .contentLength(let fault): reply.contentLength(fault)
        case .chunked(let size): reply.chunked(size: size)
        case .untilClose: reply.untilClose()
        case .rate(let bytes): reply.throttled(bytesPerSecond: bytes)
        case .pieces(let size): reply.inPieces(of: size)
        case .close: reply.closingConnection()
        case .fault(let fault, let phase): reply.fault(fault.value, at: phase.phase(context.random))
        }
    }
}

extension ScriptFault {
    var value: Reply.Fault {
        switch self {
        case .cut: .cut
        case .reset: .reset
        case .stall: .stall(until: nil)
        case .pause(let milliseconds): .pause(.milliseconds(milliseconds))
        }
    }
}

extension ScriptPhase {
    fileprivate func phase(_ random: UInt64) -> Reply.Phase {
        switch self {
        case .at(let phase): phase
        case .anywhere: .bodyShare(perMille: Int(random % 1000))
        }
    }
}
