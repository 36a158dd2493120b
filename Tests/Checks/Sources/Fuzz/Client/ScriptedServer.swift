import PurlHTTP
import PurlIO
import Synchronization

@testable import Purl

/// A server within the process: every connection, whatever host it is for, is one half of a pair of sockets, and the
/// script decides what comes through it.
///
/// One step is done in one turn of the loop, so that each portion is read by itself. The script belongs to the connection
/// on which the latest request came. When it is used up, connections are closed, and refused from then on.
@NetworkActor
final class ScriptedServer {
    private var steps: ArraySlice<ServerScript.Step>
    private var connections: [ScriptedConnection] = []
    private var active: ScriptedConnection?
    private var isRunning = false
    private var patience: LoopTimer?

    /// How long the script waits for a request that may never come.
    private static let limit = Duration.milliseconds(5)

    /// How a task gets its connection.
    enum Opening: Sendable {
        /// It sends a request.
        case request
        /// With the connection alone: the server may speak first.
        case connection
        /// It asks a proxy to connect.
        case tunnel
    }

    /// What holds for tasks that begin from here on.
    var opening = Opening.request
    /// The delegate has made a stream of the latest response's connection, whatever its status.
    nonisolated let becomesStream = Atomic(false)
    /// The client has sent something since the script last waited for it.
    private var hasReceived = false

    init(_ script: ServerScript) { steps = script.steps[...] }

    /// The latest request on any connection, and what was sent in answer to it.
    var latest: Exchange? { active.flatMap { $0.exchanges.last } ?? last }
    private var last: Exchange? { connections.flatMap(\.exchanges).max { $0.number < $1.number } }
    private(set) var requestCount = 0

    /// A request and the bytes that were sent after it came.
    struct Exchange: Sendable {
        let number: Int
        let request: RequestHead
        var answer: [UInt8] = []
        /// The server's side has ended, in an orderly way.
        var isEnded = false
    }

    func connect() -> Result<any LoopTransport, DialError> {
        guard !steps.isEmpty, let pair = try? StreamSocket.pair() else { return .failure(.connect([])) }
        let connection = ScriptedConnection(pair.1, of: self, hasLeftHTTP: opening == .connection)
        connections.append(connection)
        if opening == .connection { proceed(on: connection) }
        return .success(pair.0)
    }

    /// A request has come; its number among all of them.
    func receivedRequest(on connection: ScriptedConnection) -> Int {
        requestCount += 1
        proceed(on: connection)
        return requestCount
    }

    /// Something has come that is no request.
    func receivedBytes(on connection: ScriptedConnection) {
        guard connection === active else { return }
        hasReceived = true
        if patience != nil { proceed(on: connection) }
    }

    private func proceed(on connection: ScriptedConnection) {
        active = connection
        patience?.cancel()
        patience = nil
        run()
    }

    /// What went over the connection of a task that began when there were so many requests and connections.
    func traffic(after requests: Int, _ connections: Int) -> Traffic? {
        let latest = self.connections.max { ($0.exchanges.last?.number ?? 0) < ($1.exchanges.last?.number ?? 0) }
        if let latest, let number = latest.exchanges.last?.number, number > requests { return latest.traffic() }
        return self.connections.dropFirst(connections).last?.traffic()
    }

    var connectionCount: Int { connections.count }

    /// Closes what is open, and takes nothing more.
    func end() {
        steps = []
        patience?.cancel()
        patience = nil
        for connection in connections { connection.close() }
    }

    func run() {
        guard !isRunning else { return }
        isRunning = true
        // At the end of a turn, so that the loop looks at the sockets before the client does anything more: what is sent
        // unasked at the same moment as a request looks like its response.
        EventLoop.shared.schedule(after: .zero) {
            NetworkActor.afterTurn { NetworkActor.assumeIsolated { self.step() } }
        }
    }

    private func step() {
        isRunning = false
        guard patience == nil, let connection = active else { return }
        // What is sent from here on is not an answer to anything that comes later. Unread, it makes a close a reset.
        if case .abandon? = steps.first {} else { connection.receive() }
        guard connection.isOpen else {
            active = nil
            return
        }
        guard !connection.isBlocked else { return }
        guard let step = steps.popFirst() else { return end() }
        switch step {
        case .send(let portion): connection.send(portion)
        case .close: connection.close()
        case .abandon: connection.abandon()
        case .shutdown: connection.shutdown()
        case .awaitRequest where hasReceived:
            hasReceived = false
        case .awaitRequest:
            patience = EventLoop.shared.schedule(after: Self.limit) {
                self.patience = nil
                self.run()
            }
            return
        }
        if !connection.isOpen { active = nil }
        run()
    }
}
