import Synchronization

/// Which reply is for which request, and how often each has been sent. Any thread.
final class RouteTable: Sendable {
    private struct Key: Hashable {
        let path: String
        /// `nil`: any method.
        let method: String?
    }

    private enum Route {
        /// A reply, and how often it has been sent.
        case counted(Reply, responses: Int)
        case scripted(ScriptedRoute)

        mutating func next(to request: ReceivedRequest) -> ResolvedReply {
            switch self {
            case .counted(let reply, let responses):
                self = .counted(reply, responses: responses + 1)
                return reply.resolved(at: responses)
            case .scripted(var route):
                defer { self = .scripted(route) }
                return route.next(to: request)
            }
        }
    }

    private struct State {
        var routes: [Key: Route] = [:]
        var fallback: Route?
        var stream: StreamScript?
        /// The replies so far, by the numbers of their requests; `nil` where they are not kept.
        var given: [Int: ResolvedReply]?
    }

    private let state = Mutex(State())

    /// Sets a route's reply, and counts its responses from 0.
    func set(_ reply: Reply, path: String, method: String?) {
        state.withLock { $0.routes[Key(path: path, method: method)] = .counted(reply, responses: 0) }
    }

    /// Sets a script's route.
    func set(_ route: ScriptedRoute) {
        state.withLock { $0.routes[Key(path: route.path, method: route.method)] = .scripted(route) }
    }

    /// Sets the reply to requests without a route.
    func setFallback(_ reply: Reply) {
        state.withLock { $0.fallback = .counted(reply, responses: 0) }
    }

    /// Sets what new connections speak in place of HTTP; `nil`: HTTP.
    func setStream(_ script: StreamScript?) {
        state.withLock { $0.stream = script }
    }

    /// What a new connection speaks in place of HTTP.
    var stream: StreamScript? { state.withLock { $0.stream } }

    /// Removes a route.
    func remove(path: String, method: String?) {
        state.withLock { _ = $0.routes.removeValue(forKey: Key(path: path, method: method)) }
    }

    /// The reply to a request. Counts a response.
    func nextReply(to request: ReceivedRequest) -> ResolvedReply {
        state.withLock { state in
            let reply = Self.nextReply(to: request, &state)
            state.given?[request.number] = reply
            return reply
        }
    }

    private static func nextReply(to request: ReceivedRequest, _ state: inout State) -> ResolvedReply {
        for key in [Key(path: request.path, method: request.method), Key(path: request.path, method: nil)] {
            if let reply = state.routes[key]?.next(to: request) { return reply }
        }
        return state.fallback?.next(to: request) ?? Reply.status(404).resolved(at: 0)
    }

    // MARK: What was replied

    /// Keeps replies from now on.
    func keepReplies() {
        state.withLock { $0.given = [:] }
    }

    /// A handler has returned the reply to the request of this number.
    func setReply(_ reply: ResolvedReply, to number: Int) {
        state.withLock { $0.given?[number] = reply }
    }

    /// The replies that were kept, by the numbers of their requests.
    var given: [Int: ResolvedReply] { state.withLock { $0.given ?? [:] } }
}
