import Foundation
import PurlIO

/// A listener without HTTP: it keeps the received bytes, and sends what its script writes.
final class RawListener: Sendable {
    /// The conversation with one client. The connection is closed when it returns.
    typealias Script = @Sendable @NetworkActor (RawPeer) async -> Void

    let port: UInt16
    private let reception: Reception

    private init(_ port: UInt16, _ reception: Reception) {
        self.port = port
        self.reception = reception
    }

    deinit {
        let reception = reception
        NetworkActor.post { reception.close() }
    }

    /// Listens on a port of 127.0.0.1 and runs `script` for each client. The script runs on the network thread, so that
    /// busy threads do not delay the first client.
    static func started(_ script: @escaping Script) async throws -> RawListener {
        let reception = await Reception(script)
        let port = try await reception.open()
        return RawListener(port, reception)
    }

    /// The number of accepted connections.
    var acceptedConnections: Int { reception.accepted.withLock { $0 } }

    func url(_ path: String) throws -> URL {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else { throw URLError(.badURL) }
        return url
    }
}

/// Accepts the clients of a `RawListener` and runs its script for them.
@NetworkActor
private final class Reception {
    nonisolated let accepted = LockedValue(0)
    private let script: RawListener.Script
    private var listening: ListeningSocket?
    private var peers: [RawPeer] = []
    private var idle: [CheckedContinuation<RawPeer?, Never>] = []
    private var firstIsReady: CheckedContinuation<Void, Never>?

    init(_ script: @escaping RawListener.Script) { self.script = script }

    func open() async throws -> UInt16 {
        let listening = try ListeningSocket(.loopback(port: 0)) { [weak self] socket in self?.accept(socket) }
        self.listening = listening
        await withCheckedContinuation { continuation in
            firstIsReady = continuation
            serve(nil)
        }
        return listening.address.port ?? 0
    }

    func close() {
        listening?.close()
        for peer in peers { peer.close() }
        for continuation in idle { continuation.resume(returning: nil) }
        idle = []
    }

    private func accept(_ socket: StreamSocket) {
        let peer = RawPeer(socket)
        peers.append(peer)
        accepted.withLock { $0 += 1 }
        if let continuation = idle.popLast() { continuation.resume(returning: peer) } else { serve(peer) }
    }

    private func serve(_ first: RawPeer?) {
        let script = script
        Task { @NetworkActor [weak self] in
            var next = first
            if next == nil { next = await self?.nextPeer() }
            while let peer = next {
                await script(peer)
                peer.close()
                next = await self?.nextPeer()
            }
        }
    }

    private func nextPeer() async -> RawPeer? {
        await withCheckedContinuation { continuation in
            idle.append(continuation)
            firstIsReady?.resume()
            firstIsReady = nil
        }
    }
}

/// One client of a `RawListener`. Only what the script waits for is read.
@NetworkActor
final class RawPeer: TransportHandler {
    private let socket: StreamSocket
    private var received: [UInt8] = []
    private var outgoing: [UInt8] = []
    private var hasEnded = false
    private var waiter: CheckedContinuation<Void, Never>?

    init(_ socket: StreamSocket) {
        self.socket = socket
        socket.handler = self
    }

    /// The next bytes up to and with an empty line; nil when the client closed before.
    func head() async -> String? {
        while true {
            if let end = received.firstRange(of: [13, 10, 13, 10]) {
                let head = received[..<end.upperBound]
                received.removeSubrange(..<end.upperBound)
                return String(decoding: head, as: UTF8.self)
            }
            guard await receivesMore() else { return nil }
        }
    }

    /// The next `count` bytes; fewer when the client closed before.
    func bytes(_ count: Int) async -> Data {
        while received.count < count, await receivesMore() {}
        let taken = Data(received.prefix(count))
        received.removeFirst(taken.count)
        return taken
    }

    /// Everything until the client closes its side.
    func rest() async -> Data {
        while await receivesMore() {}
        defer { received = [] }
        return Data(received)
    }

    func send(_ text: String) { send(bytes: Array(text.utf8)) }

    func send(bytes: [UInt8]) {
        outgoing += bytes
        flush()
    }

    /// Waits by the clock of the client's time-outs.
    func pause(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            _ = EventLoop.shared.schedule(after: duration) { continuation.resume() }
        }
    }

    /// Returns when the client, which runs on the same thread, has received what was sent.
    func othersTurn() async {
        let turn = EventLoop.shared.turns
        repeat { await pause(.zero) } while !EventLoop.shared.hasDeliveredAll(since: turn)
    }

    /// Ends the connection so that the client sees a reset.
    func reset() { socket.reset() }

    func close() {
        socket.close()
        hasEnded = true
        wake()
    }

    private func receivesMore() async -> Bool {
        let before = received.count
        while received.count == before, !hasEnded {
            await withCheckedContinuation { continuation in
                waiter = continuation
                updateInterest()
            }
        }
        return received.count > before
    }

    private func wake() {
        let waiter = waiter
        self.waiter = nil
        updateInterest()
        waiter?.resume()
    }

    private func updateInterest() {
        var interest: TransportInterest = []
        if waiter != nil { interest.insert(.read) }
        if !outgoing.isEmpty { interest.insert(.write) }
        if socket.interest != interest { socket.interest = interest }
    }

    private func flush() {
        guard socket.isOpen else { return }
        let sent = outgoing.withUnsafeBytes { bytes in
            Result { () throws(SystemError) -> Int in try socket.send(bytes) }
        }
        guard case .success(let count) = sent else { return close() }
        outgoing.removeFirst(count)
        updateInterest()
    }

    func transportIsWritable(_ transport: any LoopTransport) { flush() }

    func transportIsReadable(_ transport: any LoopTransport) {
        let scratch = EventLoop.shared.scratch
        if let count = try? socket.receive(into: scratch) {
            received += scratch[..<count]
            if count == 0 { hasEnded = true }
        } else {
            hasEnded = true
        }
        wake()
    }
}
