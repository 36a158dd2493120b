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
    /// How many requests each line has counted.
    private var counts: [Int: Int] = [:]
    /// The connections on which there were requests, in the order of the first ones.
    private var connections: [Int] = []
    /// Made with the first request; `nil` for a route that takes no uploads.
    private var uploads: UploadTarget??

    /// A route of which nothing is known yet.
    init(path: String, method: String?) {
        self.path = path
        self.method = method
    }

    /// The reply to the next request. Counts it, unless it is a `HEAD`, which gets what the next one would get.
    mutating func next(to request: ReceivedRequest) -> ResolvedReply {
        if let target = uploadTarget(at: request.port) { return Reply.upload(to: target).resolved(at: 0) }
        let isHead = request.method == RequestMethod.head.name
        let number = requests + 1
        let properties = RequestProperties(request, connection: connectionNumber(of: request, isHead: isHead))
        var counted = counts
        for (index, step) in steps.enumerated() where step.selector.counts(properties) {
            counted[index, default: 0] += 1
        }
        if !isHead { (requests, counts) = (number, counted) }
        return reply(to: request, properties, number, counted, sparingFaults: isHead).resolved(at: number - 1)
    }

    /// The number of the request's connection among those of the route. A `HEAD` opens none.
    private mutating func connectionNumber(of request: ReceivedRequest, isHead: Bool) -> Int {
        if let index = connections.firstIndex(of: request.connection) { return index + 1 }
        if !isHead { connections.append(request.connection) }
        return isHead ? connections.count + 1 : connections.count
    }

    /// - Parameter port: The server's.
    private mutating func uploadTarget(at port: String) -> UploadTarget? {
        if let uploads { return uploads }
        let target = UploadTarget(
            steps.compactMap { step -> UploadDirective? in
                if case .upload(let directive) = step.directive { directive } else { nil }
            }, port: port)
        uploads = .some(target)
        return target
    }

    private func reply(
        to request: ReceivedRequest, _ properties: RequestProperties, _ number: Int, _ counted: [Int: Int],
        sparingFaults: Bool
    ) -> Reply {
        let chosen = steps.enumerated().compactMap { index, step -> (ScriptDirective, ScriptDirective.Context)? in
            // The request's number and the line's decide, so that chance does not depend on the order of other requests.
            var random = SplitMix64(state: seed ^ UInt64(number) << 32 ^ UInt64(index) << 16)
            let holds = step.selector.holds(
                for: properties, number: counted[index] ?? 0, random: random.next())
            guard holds else { return nil }
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

/// What selectors ask of a request.
struct RequestProperties {
    /// The number of the connection among those of the route, from 1.
    let connection: Int
    /// Whether there is a `Range`.
    let isRanged: Bool
    /// Where the first range begins; `nil` without a range, or for the last bytes of the content.
    let start: Int?
}

extension RequestProperties {
    init(_ request: ReceivedRequest, connection: Int) {
        self.connection = connection
        let range = request.fields["Range"]
        isRanged = range != nil
        start = range.flatMap { range in
            let parts = range.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            return parts[1].split(separator: "-", omittingEmptySubsequences: false).first.flatMap(ScriptLine.digits)
        }
    }
}

extension RequestSelector {
    /// Whether a request is one of those that a line with this selector counts.
    func counts(_ request: RequestProperties) -> Bool {
        switch kind {
        case .all: break
        case .ranged: if !request.isRanged { return false }
        case .plain: if request.isRanged { return false }
        }
        if let connections, !connections.contains(request.connection) { return false }
        if let starts { return request.start.map(starts.contains) ?? false }
        return true
    }

    /// Whether a line with this selector holds for a request.
    ///
    /// - Parameter number: The request's, among those that the line counts.
    func holds(for request: RequestProperties, number: Int, random: UInt64) -> Bool {
        guard counts(request) else { return false }
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
