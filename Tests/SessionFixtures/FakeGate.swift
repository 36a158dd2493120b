import Faults
import Foundation
import Purl
import PurlIO
import PurlSimulation
import PurlTesting

/// The server's side of the fake security layer, in front of a server that speaks in the open.
///
/// Each connection of a client is joined to one of its own to the server behind.
final class FakeGate: Sendable {
    /// What a gate does otherwise than a good one.
    struct Script: Sendable {
        enum Handshake: Sendable {
            case good
            /// It never answers.
            case stalled
            /// It answers in the open.
            case inTheOpen
            /// It closes the connection in place of an answer.
            case closed
            case reset
            case alert(TLSError.Kind)
        }

        /// What goes before the handshake in the open: so many bytes are passed on, in both directions.
        var plainBytes = (fromClient: 0, fromServer: 0)
        var handshake = Handshake.good
        /// What follows the handshake at once.
        var afterHandshake: [UInt8] = []
        /// How many bytes of content a record has.
        var recordSize = 16_384
        /// What goes before each piece of content.
        var beforeContent: [UInt8] = []
        /// What follows each piece of content.
        var afterContent: [UInt8] = []
        /// The connection ends without `close_notify`.
        var truncates = false
        /// The first bytes of content are answered with this alert.
        var alertForContent: TLSError.Kind?
        /// It does not read content.
        var readsNothing = false
    }

    /// What has come.
    struct Record: Sendable {
        var hellos: [String] = []
        var closeNotifies = 0
        var newKeys = 0
        var alerts = 0
        var contentBytes = 0
        var open = 0
    }

    let port: UInt16
    private let listener: GateListener
    private let record: Watched<Record>

    static func started(before server: UInt16, _ change: (inout Script) -> Void = { _ in }) async throws -> FakeGate {
        var script = Script()
        change(&script)
        let record = Watched(Record())
        let listener = try await GateListener { [script] client in
            GateConnection(client, to: server, script, record).start()
        }
        return FakeGate(listener, record, listener.port)
    }

    private init(_ listener: GateListener, _ record: Watched<Record>, _ port: UInt16) {
        self.listener = listener
        self.record = record
        self.port = port
    }

    deinit {
        let listener = listener
        NetworkActor.post { listener.close() }
    }

    var seen: Record { record.value }

    func wait(until condition: @escaping @Sendable (Record) -> Bool) async { await record.wait(until: condition) }

    func url(_ path: String, host: String = "127.0.0.1", scheme: String = "https") -> URL {
        URL(string: "\(scheme)://\(host):\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }
}

/// A proxy that opens tunnels to any port of this machine, and records the requests that it receives.
final class TunnelProxy: Sendable {
    let port: UInt16
    private let listener: GateListener
    private let record: Watched<[String]>

    /// - Parameters:
    ///   - credentials: The `Proxy-Authorization` that it wants.
    ///   - refusal: The response in place of a tunnel.
    ///   - target: The port that all tunnels lead to; the requested one where there is none.
    static func started(
        credentials: String? = nil, refusal: String? = nil, target: UInt16? = nil
    ) async throws -> TunnelProxy {
        let record = Watched<[String]>([])
        let listener = try await GateListener { client in
            TunnelConnection(client, credentials: credentials, refusal: refusal, target: target, record).start()
        }
        return TunnelProxy(listener, record, listener.port)
    }

    private init(_ listener: GateListener, _ record: Watched<[String]>, _ port: UInt16) {
        self.listener = listener
        self.record = record
        self.port = port
    }

    deinit {
        let listener = listener
        NetworkActor.post { listener.close() }
    }

    /// The heads of the requests.
    var heads: [String] { record.value }
    /// Their request lines.
    var lines: [String] { heads.map { String($0.prefix { $0 != "\r\n" }) } }
}

/// A value that tests wait for.
final class Watched<Value: Sendable>: Sendable {
    private let state: LockedValue<(value: Value, waiters: [@Sendable (Value) -> Bool])>

    init(_ value: Value) { state = LockedValue((value, [])) }

    var value: Value { state.withLock { $0.value } }

    func change(_ change: (inout Value) -> Void) {
        state.withLock { state in
            change(&state.value)
            let value = state.value
            state.waiters.removeAll { $0(value) }
        }
    }

    func wait(until condition: @escaping @Sendable (Value) -> Bool) async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                if condition(state.value) { return continuation.resume() }
                state.waiters.append { value in
                    guard condition(value) else { return false }
                    continuation.resume()
                    return true
                }
            }
        }
    }
}

@NetworkActor
private final class GateListener {
    private var listening: ListeningSocket?
    private var clients: [StreamSocket] = []
    let port: UInt16

    init(_ serve: @escaping @NetworkActor (StreamSocket) -> Void) async throws {
        var accepted: (@NetworkActor (StreamSocket) -> Void)?
        let listening = try ListeningSocket(.loopback(port: 0)) { socket in accepted?(socket) }
        port = listening.address.port ?? 0
        self.listening = listening
        accepted = { [weak self] socket in
            self?.clients.append(socket)
            serve(socket)
        }
    }

    func close() {
        listening?.close()
        for client in clients { client.close() }
        clients = []
    }
}

/// One end of a relay: sends what it is given when there is room, and reports what arrives.
@NetworkActor
private final class RelayEnd: TransportHandler {
    let transport: any LoopTransport
    /// Called with what has arrived; nothing at the end.
    var onBytes: (([UInt8]) -> Void)?
    /// Called when less than before waits.
    var onRoom: (() -> Void)?
    private var outgoing: [UInt8] = []
    private var endsSoon = false
    private var hasEnded = false

    init(_ transport: any LoopTransport) {
        self.transport = transport
        transport.handler = self
    }

    var isReading = true {
        didSet { update() }
    }

    var waiting: Int { outgoing.count }

    func send(_ bytes: [UInt8]) {
        outgoing += bytes
        flush()
    }

    /// Ends the stream once everything has gone.
    func end() {
        endsSoon = true
        flush()
    }

    func update() {
        guard transport.isOpen else { return }
        var interest: TransportInterest = []
        if isReading, !hasEnded { interest.insert(.read) }
        if !outgoing.isEmpty { interest.insert(.write) }
        if transport.interest != interest { transport.interest = interest }
    }

    private func flush() {
        guard transport.isOpen else { return }
        while !outgoing.isEmpty {
            // What a lost connection does not take is dropped.
            let count = (try? transport.send(outgoing, outgoing.indices)) ?? outgoing.count
            guard count > 0 else { break }
            outgoing.removeFirst(count)
        }
        if outgoing.isEmpty, endsSoon { transport.shutdownWrite() }
        update()
    }

    func transportIsReadable(_ transport: any LoopTransport) {
        let scratch = EventLoop.shared.scratch
        var count: Int? = 0
        do { count = try transport.receive(into: scratch) } catch { hasEnded = true }
        guard let count else { return }
        hasEnded = count == 0
        update()
        onBytes?([UInt8](scratch[..<count]))
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        flush()
        onRoom?()
    }
}

/// One client of a gate.
@NetworkActor
private final class GateConnection {
    private static let limit = 1 << 18

    private let client: RelayEnd
    private var server: RelayEnd?
    private let port: UInt16
    private let script: FakeGate.Script
    private let record: Watched<FakeGate.Record>
    private var reader = FakeReader()
    private var plain: (fromClient: Int, fromServer: Int)
    private var isSecure = false
    private var clientHasEnded = false
    private var clientIsGone = false
    private var serverIsGone = false

    init(
        _ socket: StreamSocket, to port: UInt16, _ script: FakeGate.Script, _ record: Watched<FakeGate.Record>
    ) {
        client = RelayEnd(socket)
        self.port = port
        self.script = script
        self.record = record
        plain = script.plainBytes
    }

    func start() {
        record.change { $0.open += 1 }
        _ = NetworkDial(to: .host("127.0.0.1", port: port), resolver: SystemResolver.shared) { result in
            guard case .success(let transport) = result else { return self.client.transport.close() }
            let server = RelayEnd(transport)
            self.server = server
            // The ends keep the connection, and it them, until both are over.
            server.onBytes = { self.takeFromServer($0) }
            self.client.onBytes = { self.takeFromClient($0) }
            self.client.onRoom = { server.isReading = self.client.waiting < Self.limit }
            server.onRoom = { self.client.isReading = server.waiting < Self.limit }
            server.update()
            self.client.update()
        }
    }

    private func stop() {
        guard let server else { return }
        self.server = nil
        record.change { $0.open -= 1 }
        for end in [server, client] {
            end.onBytes = nil
            end.onRoom = nil
            end.transport.close()
        }
    }

    // MARK: From the client

    private func takeFromClient(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            clientIsGone = true
            if !clientHasEnded || serverIsGone { stop() }
            return
        }
        let open = bytes.prefix(plain.fromClient)
        plain.fromClient -= open.count
        if !open.isEmpty { passOn(Array(open)) }
        reader.append(bytes.dropFirst(open.count))
        do {
            while let (kind, bytes) = try reader.next() { take(kind, bytes) }
        } catch {
            stop()
        }
    }

    private func take(_ kind: FakeRecord.Kind, _ bytes: [UInt8]) {
        switch kind {
        case .clientHello: greet(String(decoding: bytes, as: UTF8.self))
        case .content:
            record.change { $0.contentBytes += bytes.count }
            if let alert = script.alertForContent { return send(alert) }
            passOn(bytes)
        case .closeNotify:
            record.change { $0.closeNotifies += 1 }
            clientHasEnded = true
            server?.end()
        case .alert: record.change { $0.alerts += 1 }
        case .newKey: record.change { $0.newKeys += 1 }
        case .serverHello, .ticket, .keyRequest: stop()
        }
    }

    private func passOn(_ bytes: [UInt8]) {
        guard let server else { return }
        server.send(bytes)
        if server.waiting > Self.limit { client.isReading = false }
    }

    private func greet(_ name: String) {
        record.change { $0.hellos.append(name) }
        switch script.handshake {
        case .good:
            isSecure = true
            if script.readsNothing { client.isReading = false }
            client.send(
                FakeRecord.encode(.serverHello, Array("certificate of \(name)".utf8)) + script.afterHandshake)
        case .stalled: break
        case .inTheOpen: client.send(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
        case .closed: stop()
        case .reset:
            client.transport.reset()
            stop()
        case .alert(let kind): send(kind)
        }
    }

    private func send(_ kind: TLSError.Kind) {
        let number = TLSError.Kind.allCases.firstIndex(of: kind) ?? 0
        client.send(FakeRecord.encode(.alert, [UInt8(number)]))
        client.end()
    }

    // MARK: From the server

    private func takeFromServer(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            if isSecure, !script.truncates { client.send(FakeRecord.encode(.closeNotify)) }
            client.end()
            serverIsGone = true
            if clientIsGone { stop() }
            return
        }
        let open = bytes.prefix(plain.fromServer)
        plain.fromServer -= open.count
        if !open.isEmpty { client.send(Array(open)) }
        let rest = bytes.dropFirst(open.count)
        guard !rest.isEmpty else { return }
        client.send(
            script.beforeContent + FakeRecord.encode(content: rest, size: script.recordSize) + script.afterContent)
        if client.waiting > Self.limit { server?.isReading = false }
    }
}

/// One client of a proxy.
@NetworkActor
private final class TunnelConnection {
    private let client: RelayEnd
    private var server: RelayEnd?
    private let credentials: String?
    private let refusal: String?
    private let target: UInt16?
    private let record: Watched<[String]>
    private var received: [UInt8] = []
    private var isConnecting = false

    init(
        _ socket: StreamSocket, credentials: String?, refusal: String?, target: UInt16?, _ record: Watched<[String]>
    ) {
        client = RelayEnd(socket)
        self.credentials = credentials
        self.refusal = refusal
        self.target = target
        self.record = record
    }

    func start() {
        client.onBytes = { self.takeFromClient($0) }
        client.update()
    }

    private func stop() {
        client.onBytes = nil
        server?.onBytes = nil
        server?.transport.close()
        client.transport.close()
    }

    private func takeFromClient(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else {
            if let server { server.end() } else { stop() }
            return
        }
        if let server { return server.send(bytes) }
        received += bytes
        guard !isConnecting, let end = received.firstRange(of: [13, 10, 13, 10]) else { return }
        let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
        received.removeSubrange(..<end.upperBound)
        record.change { $0.append(head) }
        answer(head)
    }

    private func answer(_ head: String) {
        if let credentials, !head.contains("Proxy-Authorization: \(credentials)") {
            return client.send(
                Array(
                    """
                    HTTP/1.1 407 Proxy Authentication Required\r
                    Proxy-Authenticate: Basic realm="way out"\r
                    Content-Length: 0\r\n\r\n
                    """.utf8))
        }
        if let refusal {
            client.send(Array(refusal.utf8))
            // The proxy ends in the middle of it.
            return refusal.contains("\r\n\r\n") ? () : client.end()
        }
        let words = head.split(separator: " ")
        guard words.first == "CONNECT", words.count > 1, let colon = words[1].lastIndex(of: ":"),
            let port = target ?? UInt16(words[1][words[1].index(after: colon)...])
        else { return stop() }
        isConnecting = true
        _ = NetworkDial(to: .host("127.0.0.1", port: port), resolver: SystemResolver.shared) { result in
            guard case .success(let transport) = result else { return self.stop() }
            let server = RelayEnd(transport)
            self.server = server
            server.onBytes = { bytes in bytes.isEmpty ? self.client.end() : self.client.send(bytes) }
            self.client.send(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
            server.send(self.received)
            server.update()
        }
    }
}
