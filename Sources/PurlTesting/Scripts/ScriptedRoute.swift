import Foundation
internal import PurlHTTP

/// A route of a ``ServerScript``, and how many requests it has had.
struct ScriptedRoute: Sendable {
    /// Compared with the request's path as it is on the wire, without query.
    let path: String
    /// The requests' method; `nil`: any.
    let method: String?
    /// What the script says about the route, line by line.
    var steps: [ScriptStep] = []
    /// For content without a seed of its own, and for what happens at random.
    var seed: UInt64 = 0
    /// Where the paths of files begin.
    var folder = URL(fileURLWithPath: ".")

    private var requests = 0
    private var rangedRequests = 0
    /// Made with the first request; `nil` for a route that takes no uploads.
    private var uploads: UploadTarget??

    /// A route of which nothing is known yet.
    init(path: String, method: String?) {
        self.path = path
        self.method = method
    }

    /// The reply to the next request. Counts it, unless it is a `HEAD`, which gets what the next one would get.
    mutating func next(to request: ReceivedRequest) -> ResolvedReply {
        if let target = uploadTarget() { return Reply.upload(to: target).resolved(at: 0) }
        let isRanged = request.fields["Range"] != nil
        let isHead = request.method == RequestMethod.head.name
        let counts = RequestCounts(
            all: requests + 1, ofItsKind: (isRanged ? rangedRequests : requests - rangedRequests) + 1,
            isRanged: isRanged)
        if !isHead {
            requests += 1
            if isRanged { rangedRequests += 1 }
        }
        return reply(to: request, counts, sparingFaults: isHead).resolved(at: counts.all - 1)
    }

    private mutating func uploadTarget() -> UploadTarget? {
        if let uploads { return uploads }
        let target = UploadTarget(
            steps.compactMap { step -> UploadDirective? in
                if case .upload(let directive) = step.directive { directive } else { nil }
            })
        uploads = .some(target)
        return target
    }

    private func reply(to request: ReceivedRequest, _ counts: RequestCounts, sparingFaults: Bool) -> Reply {
        let chosen = steps.enumerated().compactMap { index, step -> (ScriptDirective, ScriptDirective.Context)? in
            // The request's number and the line's decide, so that chance does not depend on the order of other requests.
            var random = SplitMix64(state: seed ^ UInt64(counts.all) << 32 ^ UInt64(index) << 16)
            guard step.selector.matches(counts, random: random.next()) else { return nil }
            if sparingFaults && step.directive.isFault { return nil }
            let context = ScriptDirective.Context(
                seed: seed, folder: folder, port: request.port, random: random.next())
            return (step.directive, context)
        }
        let webSocket = WebSocketScript(
            chosen.compactMap { directive, _ in
                if case .webSocket(let directive) = directive { directive } else { nil }
            })
        let content = webSocket.map(Reply.webSocket) ?? chosen.compactMap { $0.content($1) }.last ?? .status(200)
        return chosen.reduce(content) { reply, step in step.0.applied(to: reply, step.1) }
    }
}

/// Which of a route's requests one is, from 1.
struct RequestCounts {
    let all: Int
    /// Among those with a `Range`, or among those without.
    let ofItsKind: Int
    let isRanged: Bool
}

extension RequestSelector {
    /// Whether a line with this selector holds for a request.
    func matches(_ counts: RequestCounts, random: UInt64) -> Bool {
        let number: Int
        switch kind {
        case .all: number = counts.all
        case .ranged where counts.isRanged, .plain where !counts.isRanged: number = counts.ofItsKind
        case .ranged, .plain: return false
        }
        switch turns {
        case .all: break
        case .numbers(let numbers): if !numbers.contains(number) { return false }
        case .every(let step): if !number.isMultiple(of: step) { return false }
        }
        return random % 100 < UInt64(percent)
    }
}

/// A generator of random numbers that are the same every time.
private struct SplitMix64 {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

extension ReceivedRequest {
    /// The port in the `Host` field.
    fileprivate var port: String {
        let host = fields["Host"] ?? ""
        return host.lastIndex(of: ":").map { String(host[host.index(after: $0)...]) } ?? "80"
    }
}
