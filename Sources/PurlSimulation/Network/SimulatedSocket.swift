import Foundation
import PurlIO

/// One end of a simulated connection, which behaves as that of a TCP connection does.
@NetworkActor final class SimulatedSocket: LoopTransport {
    var handler: (any TransportHandler)? {
        get { weakHandler }
        set { weakHandler = newValue }
    }

    var interest: TransportInterest {
        get { wanted }
        set {
            guard isOpen else { return }
            wanted = newValue
            becameReady()
        }
    }

    private(set) var isOpen = true
    /// How long what was sent may stay unacknowledged, in nanoseconds; `nil` for the kernel's own limit.
    private(set) var patience: Int64?
    let localAddress: SocketAddress?
    let peerAddress: SocketAddress?
    nonisolated let process: SimulatedProcess

    private weak var weakHandler: (any TransportHandler)?
    private let number: Int
    private let incoming: NetworkPipe
    private let outgoing: NetworkPipe
    private var wanted: TransportInterest = []
    private var isReset = false
    private var hasFinished = false

    init(
        _ number: Int, of process: SimulatedProcess, incoming: NetworkPipe, outgoing: NetworkPipe,
        local: SocketAddress?, peer: SocketAddress?
    ) {
        self.number = number
        self.process = process
        self.incoming = incoming
        self.outgoing = outgoing
        localAddress = local
        peerAddress = peer
        incoming.attach(reader: self)
        outgoing.attach(writer: self)
        process.add(self)
    }

    /// How many bytes can be sent now.
    var room: Int { max(0, outgoing.room) }

    /// What there is of what the owner waits for.
    var readyEvents: TransportInterest {
        var events: TransportInterest = []
        if wanted.contains(.read), isReset || incoming.isReadable { events.insert(.read) }
        if wanted.contains(.write), isReset || outgoing.hasRoom { events.insert(.write) }
        return events
    }

    /// The connection and its state, in words.
    var words: String {
        let peer = peerAddress.map { "\($0)" } ?? "nowhere"
        return "connection \(number) with \(peer): \(incoming.unread) bytes to read, "
            + "\(outgoing.unacknowledged) on their way, \(outgoing.unread) unread by the other side"
    }

    func callHandler(_ readiness: TransportInterest) {
        guard isOpen else { return }
        guard let handler else {
            interest = []
            return
        }
        if readiness.contains(.read), wanted.contains(.read) { handler.transportIsReadable(self) }
        if readiness.contains(.write), wanted.contains(.write) { handler.transportIsWritable(self) }
    }

    /// The network thread looks whether something is there that the owner waits for.
    func becameReady() {
        if isOpen, !readyEvents.isEmpty { process.wakeNetwork() }
    }

    /// The other side has reset the connection.
    func wasReset() {
        isReset = true
    }

    // MARK: The stream

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        if isReset, incoming.unread == 0 { throw SystemError(code: ECONNRESET, operation: "recv") }
        return incoming.read(into: buffer)
    }

    var isQuiet: Bool { isOpen && !isReset && !incoming.isReadable }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if isReset { throw SystemError(code: ECONNRESET, operation: "send") }
        // What a process that was killed sends no longer leaves the machine.
        if process.isDying { return bytes.count }
        if !isOpen || hasFinished { throw SystemError(code: EPIPE, operation: "send") }
        return outgoing.send(bytes)
    }

    var delivery: DeliveryState? {
        isOpen ? DeliveryState(unacknowledged: outgoing.unacknowledged, end: isReset ? .reset : .open) : nil
    }

    func fail(whenUnacknowledgedFor limit: Duration) {
        patience = limit.nanoseconds
    }

    func shutdownWrite() {
        guard isOpen, !hasFinished, !process.isDying else { return }
        hasFinished = true
        outgoing.end(.finished)
    }

    func close() {
        // RFC 2525 §2.17: what was not read resets the connection.
        leave { hadUnread in
            if hadUnread { outgoing.end(.reset) } else if !hasFinished { outgoing.end(.finished) }
        }
    }

    func reset() {
        leave { _ in outgoing.end(.reset) }
    }

    private func leave(_ end: (_ hadUnread: Bool) -> Void) {
        guard isOpen else { return }
        isOpen = false
        wanted = []
        process.remove(self)
        let hadUnread = incoming.stopReading()
        if !isReset { end(hadUnread) }
    }
}
