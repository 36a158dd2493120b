import Synchronization

/// Which reply answers which request, and how often each has. Any thread.
final class RouteTable: Sendable {
    private struct Key: Hashable {
        let path: String
        /// Nil: any method.
        let method: String?
    }

    private struct Route {
        let reply: Reply
        var answers = 0

        mutating func next() -> ResolvedReply {
            defer { answers += 1 }
            return reply.resolved(at: answers)
        }
    }

    private struct State {
        var routes: [Key: Route] = [:]
        var fallback: Route?
        var stream: StreamScript?
    }

    private let state = Mutex(State())

    /// Answers `path` with `reply` from now on; what was there, and its count, is forgotten.
    func set(_ reply: Reply, path: String, method: String?) {
        state.withLock { $0.routes[Key(path: path, method: method)] = Route(reply: reply) }
    }

    /// Answers everything else with `reply` from now on.
    func setFallback(_ reply: Reply) {
        state.withLock { $0.fallback = Route(reply: reply) }
    }

    /// What connections speak in place of HTTP, from now on; nil: HTTP.
    func setStream(_ script: StreamScript?) {
        state.withLock { $0.stream = script }
    }

    /// What a connection that is made now speaks in place of HTTP.
    var stream: StreamScript? { state.withLock { $0.stream } }

    /// Forgets what answers `path`.
    func remove(path: String, method: String?) {
        state.withLock { _ = $0.routes.removeValue(forKey: Key(path: path, method: method)) }
    }

    /// The answer to the next request with this method and path. Counts it.
    func answer(method: String, path: String) -> ResolvedReply {
        state.withLock { state in
            for key in [Key(path: path, method: method), Key(path: path, method: nil)] {
                if let reply = state.routes[key]?.next() { return reply }
            }
            return state.fallback?.next() ?? Reply.status(404).resolved(at: 0)
        }
    }
}
