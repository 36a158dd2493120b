public import Foundation
import PurlIO
public import PurlTesting

/// An HTTP server of a simulation: PurlTesting's, at a host and a port of the simulated network.
///
/// ```swift
/// let server = world.server("mirror.example")
/// let film = server.route("/film", .generated(size: 1 << 20).entityTag("\"v1\"").cut(afterBytes: 1_000, times: 2))
/// ```
public final class Server: Sendable {
    private enum State: Equatable {
        case listening
        case stopped
        /// Not there yet after a restart, which has a number.
        case restarting(Int)
    }

    /// The name that clients look up.
    public let host: String
    /// The port that it listens on.
    public let port: UInt16

    let isSecure: Bool
    let process: SimulatedProcess
    private let scheduler: Scheduler
    /// What replies.
    package let server: LoopbackServer
    // Changed on the thread of the simulation alone.
    nonisolated(unsafe) private var state = State.listening
    nonisolated(unsafe) private var restarts = 0
    nonisolated(unsafe) private var later: [String: [Reply]] = [:]
    nonisolated(unsafe) private var contents: [String: [GeneratedContent]?] = [:]

    init(
        _ host: String, port: UInt16, isSecure: Bool, _ server: LoopbackServer, _ process: SimulatedProcess,
        _ scheduler: Scheduler
    ) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.server = server
        self.process = process
        self.scheduler = scheduler
    }

    /// The URL of a path on this server.
    ///
    /// - Parameter path: Begins with `/`, and may have a query.
    public func url(_ path: String) -> URL {
        let authority = port == (isSecure ? 443 : 80) ? host : "\(host):\(port)"
        return URL(string: "http\(isSecure ? "s" : "")://\(authority)\(path)") ?? URL(fileURLWithPath: path)
    }

    /// Sets what the server replies to requests for a path, and counts the route's responses from 0.
    ///
    /// - Parameters:
    ///   - path: Compared with the request's path as it is on the wire, without query and without percent-decoding.
    ///   - method: The requests' method; `nil` for all methods that have no route of their own.
    ///   - reply: What to reply.
    /// - Returns: The route's URL.
    @discardableResult
    public func route(_ path: String, method: String? = nil, _ reply: Reply) -> URL {
        server.route(path, method: method, reply)
        note(reply, at: path)
        return url(path)
    }

    /// Sets what the server replies to requests for a path, and what it will reply when it has been restarted: the next version
    /// each time, and the last one from then on. ``restart(for:)`` and ``World/Chaos/restarts`` do that.
    ///
    /// - Parameters:
    ///   - path: The path, exactly.
    ///   - versions: One at least; the first one is that of the beginning.
    /// - Returns: The route's URL.
    @discardableResult
    public func route(_ path: String, versions: [Reply]) -> URL {
        later[path] = Array(versions.dropFirst())
        return route(path, versions.first ?? .status(404))
    }

    private func note(_ reply: Reply, at path: String) {
        let earlier = contents[path] ?? []
        contents[path] = .some(earlier.flatMap { earlier in reply.honestContents.map { earlier + $0 } })
    }

    /// All contents that a path has had; `nil` where they are not known.
    func contents(at path: String) -> [GeneratedContent]? { contents[path] ?? nil }

    /// The requests so far, in the order in which their heads arrived, with how far their responses are.
    public var requests: [ReceivedRequest] { server.requests }

    /// What has happened so far.
    public var record: LoopbackServer.Record { server.record }

    /// Returns as soon as a condition holds.
    ///
    /// - Parameter condition: Called with what has happened so far, after each change.
    public func wait(until condition: @Sendable (LoopbackServer.Record) -> Bool) async {
        await server.wait(until: condition)
    }

    /// Closes every connection and continues to listen, as a server does that is restarted.
    public func closeConnections() {
        scheduler.within(process) { server.closeConnections() }
    }

    /// Refuses new connections and closes those that are open, until ``start()``.
    public func stop() {
        state = .stopped
        closeConnections()
    }

    /// Accepts connections again after ``stop()``.
    public func start() {
        state = .listening
    }

    /// Restarts the server: closes its connections, refuses new ones for a while, and has the next version of each path.
    ///
    /// A later call of ``stop()``, ``start()`` or this method takes the place of the rest of the while.
    ///
    /// - Parameter duration: How long it takes.
    public func restart(for duration: Duration) {
        restart(for: duration.nanoseconds)
    }

    func restart(for pause: Int64) {
        restarts += 1
        let restart = State.restarting(restarts)
        state = restart
        closeConnections()
        for path in later.keys.sorted() {
            guard var versions = later[path], !versions.isEmpty else { continue }
            route(path, versions.removeFirst())
            later[path] = versions
        }
        scheduler.schedule(after: pause, for: process) { if self.state == restart { self.start() } }
    }

    var listens: Bool { state == .listening }
    var isStopped: Bool { state == .stopped }

    /// A script with which `purl serve` replies as this server has; `nil` without requests, or where scripts have no words for
    /// what it has replied.
    func script(title: String) -> String? { server.script(title: title) }

    @NetworkActor func accept(_ socket: SimulatedSocket) {
        guard listens else { return socket.reset() }
        server.accept(isSecure ? FakeServerTransport(over: socket) : socket)
    }
}
