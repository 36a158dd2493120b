import Synchronization

/// Which reply is for which request, and how often each has been sent. Any thread.
final class RouteTable: Sendable {
    private struct Key: Hashable {
        let path: String
        /// `nil`: any method.
        let method: String?
    }

    private struct Route {
        let reply: Reply
        var responses = 0

        mutating func next() -> ResolvedReply {
            defer { responses += 1 }
            return reply.resolved(at: responses)
        }
    }

    private struct State {
        var routes: [Key: Route] = [:]
        var fallback: Route?
        var stream: StreamScript?
    }

    private let state = Mutex(State())

    /// Sets a route's reply, and counts its responses from 0.
    func set(_ reply: Reply, path: String, method: String?) {
        state.withLock { $0.routes[Key(path: path, method: method)] = Route(reply: reply) }
    }

    /// Sets the reply to requests without a route.
    func setFallback(_ reply: Reply) {
        state.withLock { $0.fallback = Route(reply: reply) }
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

    /// The reply to the next request with this method and path. Counts a response.
    func nextReply(method: String, path: String) -> ResolvedReply {
        state.withLock { state in
            for key in [Key(path: path, method: method), Key(path: path, method: nil)] {
                if let reply = state.routes[key]?.next() { return reply }
            }
            return state.fallback?.next() ?? Reply.status(404).resolved(at: 0)
        }
    }
}
