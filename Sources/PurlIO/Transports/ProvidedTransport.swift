import Synchronization

/// A transport that a program provides, as the loop uses it.
///
/// A ``Transport`` reports changes, and the loop wants states. So each direction is taken to be ready until a call has
/// found that it is not, and again once the transport has raised its signal. The handler is called in the next turn of the
/// loop, never within a call of the transport.
@NetworkActor package final class ProvidedTransport: LoopTransport {
    package var handler: (any TransportHandler)? {
        get { weakHandler }
        set { weakHandler = newValue }
    }

    private weak var weakHandler: (any TransportHandler)?

    package private(set) var isOpen = true

    private let transport: any Transport
    private let loop: EventLoop
    private var wanted: TransportInterest = []
    /// What no call has found impossible since the last signal for it.
    private var ready: TransportInterest = [.read, .write]
    private var willDeliver = false
    /// What ``isQuiet`` had to take.
    private var lookahead: Lookahead?

    private enum Lookahead {
        case byte(UInt8)
        case end
        case failure(SystemError)
    }

    /// Takes over a transport that has not been started, and starts it.
    package init(_ transport: any Transport, loop: EventLoop = .shared) {
        self.transport = transport
        self.loop = loop
        let pending = PendingEvents()
        transport.start(
            TransportSignal { [weak self] events in
                // Many signals of one turn take one message.
                guard pending.insert(events) else { return }
                // Never at once: a call of the transport may be under way, which has found nothing.
                NetworkActor.post {
                    let events = pending.takeAll()
                    self?.signalled(events)
                }
            })
    }

    deinit {
        guard isOpen else { return }
        NetworkActor.perform { [transport] in transport.close() }
    }

    package var interest: TransportInterest {
        get { wanted }
        set {
            guard isOpen, wanted != newValue else { return }
            wanted = newValue
            transport.setInterest(newValue)
            deliverSoon()
        }
    }

    package var localAddress: SocketAddress? { isOpen ? transport.localAddress.flatMap { SocketAddress($0) } : nil }

    package var peerAddress: SocketAddress? { isOpen ? transport.remoteAddress.flatMap { SocketAddress($0) } : nil }

    // MARK: Receiving

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        switch lookahead {
        case .byte(let byte):
            lookahead = nil
            buffer[0] = byte
            return 1
        case .end: return 0
        case .failure(let error): throw error
        case nil: break
        }
        let count: Int? = try calling("read") { try transport.read(into: buffer) }
        guard let count else {
            ready.remove(.read)
            return nil
        }
        return try checked(count, atMost: buffer.count, "read")
    }

    package var isQuiet: Bool {
        if lookahead != nil { return false }
        // A transport cannot be asked whether something has arrived without taking it.
        var byte: UInt8 = 0
        do throws(SystemError) {
            let count = try withUnsafeMutableBytes(of: &byte) { buffer throws(SystemError) in try receive(into: buffer)
            }
            guard let count else { return true }
            lookahead = count == 0 ? .end : .byte(byte)
        } catch {
            lookahead = .failure(error)
        }
        return false
    }

    package func receive(_ count: Int, intoPipe descriptor: Int32) throws(SystemError) -> TransportMove {
        guard lookahead == nil else { return .unsupported }
        let move = try calling("read") { try transport.read(count, intoPipe: descriptor) }
        // When the pipe is full, something may have arrived all the same, and no signal follows.
        if move == .notNow, Self.hasRoom(descriptor) { ready.remove(.read) }
        return try checked(move, atMost: count, "read")
    }

    private static func hasRoom(_ pipe: Int32) -> Bool {
        var entry = pollfd(fd: pipe, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    // MARK: Sending

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        let count = try calling("write") { try transport.write(bytes) }
        if count < bytes.count { ready.remove(.write) }
        return try checked(count, atMost: bytes.count, "write")
    }

    package func send(
        _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer
    ) throws(SystemError) -> Int {
        if first.isEmpty || second.isEmpty { return try send(first.isEmpty ? second : first) }
        let count = try calling("write") { try transport.write(first, second) }
        // The first buffer alone may have been written, which says nothing about room for the second.
        if count < first.count { ready.remove(.write) }
        return try checked(count, atMost: first.count + second.count, "write")
    }

    package func send(
        _ count: Int, ofFile descriptor: Int32, from offset: Int64
    ) throws(SystemError) -> TransportMove {
        let move = try calling("write") { try transport.write(count, ofFile: descriptor, from: offset) }
        if move == .notNow { ready.remove(.write) }
        return try checked(move, atMost: count, "write")
    }

    package func shutdownWrite() {
        if isOpen { transport.finishWriting() }
    }

    package func close() {
        end { transport.close() }
    }

    package func reset() {
        end { transport.reset() }
    }

    private func end(_ close: () -> Void) {
        guard isOpen else { return }
        isOpen = false
        wanted = []
        close()
    }

    // MARK: Calls of the transport

    private func calling<Value>(_ operation: String, _ call: () throws -> Value) throws(SystemError) -> Value {
        guard isOpen else { throw SystemError(code: EBADF, operation: operation) }
        do {
            return try call()
        } catch let error as SystemError {
            throw error
        } catch {
            throw SystemError(code: ECONNABORTED, operation: operation, cause: ThrownError(error))
        }
    }

    /// A count that a buffer of this size allows: a wrong one would make Purl read memory that is not its own.
    private func checked(_ count: Int, atMost limit: Int, _ operation: String) throws(SystemError) -> Int {
        guard 0...limit ~= count else {
            throw SystemError(
                code: ECONNABORTED, operation: operation,
                cause: ThrownError(ImpossibleCount(count: count, limit: limit)))
        }
        return count
    }

    private func checked(
        _ move: TransportMove, atMost limit: Int, _ operation: String
    ) throws(SystemError) -> TransportMove {
        guard case .moved(let count) = move else { return move }
        // Nothing moved is not a move, and would be tried again and again.
        _ = try checked(count > 0 ? count : -1, atMost: limit, operation)
        return move
    }

    // MARK: Readiness

    private func signalled(_ events: TransportInterest) {
        ready.formUnion(events)
        deliverSoon()
    }

    private func deliverSoon() {
        guard isOpen, !willDeliver, !ready.isDisjoint(with: wanted) else { return }
        willDeliver = true
        loop.schedule(after: .zero) { [weak self] in self?.deliver() }
    }

    private func deliver() {
        willDeliver = false
        guard let handler else {
            // What has arrived stays unread, and would be reported again and again.
            interest = []
            return
        }
        // Each call may close the transport, find it not ready or change the interest.
        if isReady(for: .read) { handler.transportIsReadable(self) }
        if isReady(for: .write) { handler.transportIsWritable(self) }
        deliverSoon()
    }

    private func isReady(for event: TransportInterest) -> Bool {
        wanted.contains(event) && ready.contains(event)
    }
}

/// A transport has reported that it moved more bytes than it was given room for, or fewer than none.
struct ImpossibleCount: Error, Sendable, Hashable, CustomStringConvertible {
    let count: Int
    let limit: Int

    var description: String { "the transport reported \(count) bytes of at most \(limit)" }
}

/// The events that were signalled and not taken yet. From any thread.
private final class PendingEvents: Sendable {
    private let events = Atomic<UInt8>(0)

    /// Adds events; true when there were none.
    func insert(_ new: TransportInterest) -> Bool {
        !new.isEmpty && events.bitwiseOr(new.rawValue, ordering: .acquiringAndReleasing).oldValue == 0
    }

    func takeAll() -> TransportInterest {
        TransportInterest(rawValue: events.exchange(0, ordering: .acquiringAndReleasing))
    }
}

extension SocketAddress {
    /// The address of a program's transport: digits, or a path without a port; `nil` for any other text.
    init?(_ address: TransportAddress) {
        if let port = address.port {
            guard let port = UInt16(exactly: port) else { return nil }
            self.init(literal: address.address, port: port)
        } else {
            guard let path = try? SocketAddress(unixPath: address.address) else { return nil }
            self = path
        }
    }
}

extension TransportAddress {
    /// The address of a socket.
    package init(_ address: SocketAddress) {
        self.init(address: address.host ?? address.description, port: address.port.map { Int($0) })
    }
}
