import PurlHTTP
import PurlIO

@testable import Purl

/// A server within the process: every connection, whatever host it is for, is one half of a pair of sockets, and the
/// script says what comes through it.
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

    func connect() -> Result<StreamSocket, DialError> {
        guard !steps.isEmpty, let pair = try? StreamSocket.pair() else { return .failure(.connect([])) }
        connections.append(ScriptedConnection(pair.1, of: self))
        return .success(pair.0)
    }

    /// A request has come; its number among all of them.
    func received(on connection: ScriptedConnection) -> Int {
        requestCount += 1
        active = connection
        patience?.cancel()
        patience = nil
        run()
        return requestCount
    }

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
        // unasked at the same moment as a request cannot be told from its answer.
        EventLoop.shared.schedule(after: .zero) {
            NetworkActor.afterTurn { NetworkActor.assumeIsolated { self.step() } }
        }
    }

    private func step() {
        isRunning = false
        guard patience == nil, let connection = active else { return }
        // What is sent from here on is no answer to anything that comes later. Unread, it makes a close a reset.
        if case .abandon? = steps.first {} else { connection.receive() }
        guard connection.isOpen else {
            active = nil
            return
        }
        guard !connection.isBlocked else { return }
        guard let step = steps.popFirst() else { return end() }
        switch step {
        case .send(let bytes): connection.send(bytes)
        case .close: connection.close()
        case .abandon: connection.close()
        case .shutdown: connection.shutdown()
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
