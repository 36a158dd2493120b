package import PurlIO

/// The content of a TLS connection, over the transport that carries its records.
///
/// Records arrive and leave in other portions than content: a transport that is quiet may hold content that the last record
/// has brought, and one that has bytes may bring none. So the handler is called for what the library holds, too, and
/// ``receive(into:)`` reads on until there is content, and until its buffer is full or all that has arrived was taken: what
/// follows costs the same for a piece of a record as for many records. What the library wants to send by itself, such as an
/// answer to a change of keys, goes out whatever the owner's interest is.
@NetworkActor
package final class SecureTransport: LoopTransport, TransportHandler {
    private enum Incoming {
        case open
        /// The other side has sent `close_notify`.
        case ended
        case failed(SystemError)
    }

    private enum Outgoing {
        case open
        /// `close_notify` was written.
        case ended
        case failed(SystemError)
    }

    /// The most content that is encrypted in one call.
    private static let portion = 65_536
    /// So many times the lower transport is read before others have their turn.
    private static let readsPerTurn = 16
    /// A read that brings less than a record has, as a rule, taken everything that had arrived.
    private static let record = 16_384

    /// Why nothing more can be received or sent.
    package private(set) var fault: SecurityFault?
    private let lower: any LoopTransport
    private let side: any SecurityConnection
    private weak var weakHandler: (any TransportHandler)?
    private var wanted: TransportInterest = []
    private var incoming = Incoming.open
    private var outgoing = Outgoing.open
    private var ciphertext: CiphertextQueue
    private var isClosed = false
    /// The library may hold content that arrived with other content.
    private var mayHoldContent = true
    /// Content that was read to see whether there is any.
    private var held: [UInt8] = []
    private var report: LoopTimer?

    /// Takes over a side whose handshake is done, and the transport that it was done over.
    ///
    /// - Parameter ciphertext: What of the handshake has not gone out.
    init(over lower: any LoopTransport, _ side: any SecurityConnection, _ ciphertext: CiphertextQueue) {
        self.lower = lower
        self.side = side
        self.ciphertext = ciphertext
        lower.handler = self
        lower.interest = []
        update()
    }

    package var handler: (any TransportHandler)? {
        get { weakHandler }
        set { weakHandler = newValue }
    }

    package var interest: TransportInterest {
        get { wanted }
        set {
            wanted = isClosed ? [] : newValue
            update()
        }
    }

    package var isOpen: Bool { !isClosed && lower.isOpen }
    package var localAddress: SocketAddress? { lower.localAddress }
    package var peerAddress: SocketAddress? { lower.peerAddress }
    /// The bytes of the socket are records.
    package var plainSocket: StreamSocket? { nil }

    package func fail(whenUnacknowledgedFor limit: Duration) { lower.fail(whenUnacknowledgedFor: limit) }

    // MARK: Receiving

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        defer { update() }
        guard held.isEmpty else {
            let count = min(held.count, buffer.count)
            buffer.copyBytes(from: held[..<count])
            held.removeFirst(count)
            return count
        }
        return try pull(into: buffer)
    }

    /// Records without content, such as session tickets, leave the connection quiet.
    package var isQuiet: Bool {
        guard isOpen, held.isEmpty else { return false }
        defer { update() }
        do throws(SystemError) {
            let preview = EventLoop.shared.preview
            guard let count = try pull(into: preview) else { return true }
            held = [UInt8](preview[..<count])
            return false
        } catch {
            return false
        }
    }

    package func isQuiet(since turn: UInt64) -> Bool {
        // The library was drained, too.
        isOpen && !hasArrived && lower.isQuiet(since: turn) || isQuiet
    }

    /// Reads until the buffer is full, or nothing more has arrived.
    private func pull(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        defer { flush() }
        var filled = 0
        var reads = 0
        var isDrained = false
        while filled < buffer.count {
            switch incoming {
            case .open: break
            case .ended: return filled
            case .failed(let error):
                if filled > 0 { return filled }
                throw error
            }
            if mayHoldContent {
                let count = decrypt(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
                filled += count
                guard count == 0, case .open = incoming else { continue }
                mayHoldContent = false
            }
            if filled > 0, isDrained || reads == Self.readsPerTurn { return filled }
            reads += 1
            guard reads <= Self.readsPerTurn, let count = takeArrived() else { return filled > 0 ? filled : nil }
            isDrained = count < Self.record
            mayHoldContent = true
        }
        mayHoldContent = true
        return filled
    }

    /// Content that the library holds; 0 when it holds none, or its end or an error has come.
    private func decrypt(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        do {
            switch try side.read(into: buffer) {
            case .content(let count): return min(max(0, count), buffer.count)
            case .waiting: return 0
            case .end:
                incoming = .ended
                return 0
            }
        } catch {
            fail(error)
            return 0
        }
    }

    /// Gives the library what has arrived; returns how much that was, `nil` when nothing has.
    private func takeArrived() -> Int? {
        do throws(SystemError) {
            let arrival = EventLoop.shared.arrivingRecords
            guard let count = try lower.receive(into: arrival) else { return nil }
            if count > 0 {
                side.receiveCiphertext(UnsafeRawBufferPointer(rebasing: arrival[..<count]))
            } else {
                // Without `close_notify`: content may be missing (RFC 8446 §6.1).
                fault = .truncated
                incoming = .failed(SystemError(code: ECONNRESET, operation: "close_notify"))
            }
            return count
        } catch {
            incoming = .failed(error)
            return 0
        }
    }

    // MARK: Sending

    package func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        defer { update() }
        flush()
        var taken = 0
        while taken < bytes.count {
            switch outgoing {
            case .open: break
            case .ended: throw SystemError(code: EPIPE, operation: "send")
            case .failed(let error):
                // The bytes before have been taken; the next call throws.
                if taken > 0 { return taken }
                throw error
            }
            // What has been encrypted goes first, so that no more than one portion waits.
            guard ciphertext.isEmpty else { break }
            taken += encrypt(bytes[taken..<min(bytes.count, taken + Self.portion)])
            flush()
        }
        return taken
    }

    private func encrypt(_ content: Slice<UnsafeRawBufferPointer>) -> Int {
        do {
            ciphertext.expectMore()
            return min(max(1, try side.write(UnsafeRawBufferPointer(rebasing: content))), content.count)
        } catch {
            fail(error)
            return 0
        }
    }

    /// Sends what the library has to send, as far as there is room.
    private func flush() {
        if case .failed = outgoing { return }
        do throws(SystemError) {
            try ciphertext.flush(side, into: lower)
            if case .ended = outgoing, ciphertext.isEmpty { lower.shutdownWrite() }
        } catch {
            // What the other side has sent before can still be received.
            outgoing = .failed(error)
        }
    }

    /// The library has failed: it may have an alert to send.
    private func fail(_ error: any Error) {
        ciphertext.expectMore()
        flush()
        fault = .failed(error)
        let failure = SystemError(code: EPROTO, operation: "TLS")
        incoming = .failed(failure)
        outgoing = .failed(failure)
    }

    // MARK: Ends

    package func shutdownWrite() {
        guard isOpen, case .open = outgoing else { return }
        endSession()
        outgoing = .ended
        flush()
        update()
    }

    private func endSession() {
        ciphertext.expectMore()
        side.finishWriting()
    }

    /// Sends `close_notify`, if there is room for it. Only a stream that was ended before is sent to its end.
    package func close() {
        guard isOpen else { return }
        var lingers = false
        switch outgoing {
        case .open:
            endSession()
            flush()
        case .ended:
            flush()
            lingers = !ciphertext.isEmpty
        case .failed: break
        }
        stop()
        if lingers, case .ended = outgoing {
            LingeringTransport.keep(lower, sending: ciphertext.takeAll(of: side))
        } else {
            lower.close()
        }
    }

    package func reset() {
        guard isOpen else { return }
        stop()
        lower.reset()
    }

    private func stop() {
        isClosed = true
        wanted = []
        report?.cancel()
        report = nil
        lower.handler = nil
    }

    // MARK: Events

    private var isOver: Bool {
        switch incoming {
        case .open: false
        case .ended, .failed: true
        }
    }

    /// Whether the handler can be called though the lower transport reports nothing.
    private var hasArrived: Bool { mayHoldContent || !held.isEmpty || isOver }

    /// Watches for what the owner wants, and for room where something waits.
    private func update() {
        guard isOpen else { return }
        var needed: TransportInterest = []
        let isReading = wanted.contains(.read)
        if isReading, !hasArrived { needed.insert(.read) }
        if wanted.contains(.write) { needed.insert(.write) }
        if case .failed = outgoing {} else if !ciphertext.isEmpty { needed.insert(.write) }
        if lower.interest != needed { lower.interest = needed }
        if isReading, hasArrived, report == nil {
            report = EventLoop.shared.schedule(after: .zero) { [weak self] in self?.reportArrival() }
        }
    }

    private func reportArrival() {
        report = nil
        if wanted.contains(.read), hasArrived { callHandler { $0.transportIsReadable(self) } }
        update()
    }

    private func callHandler(_ call: (any TransportHandler) -> Void) {
        if let handler { call(handler) } else { wanted = [] }
    }

    package func transportIsReadable(_ transport: any LoopTransport) {
        if wanted.contains(.read) { callHandler { $0.transportIsReadable(self) } }
        update()
    }

    package func transportIsWritable(_ transport: any LoopTransport) {
        flush()
        var hasRoom = ciphertext.isEmpty
        if case .failed = outgoing { hasRoom = true }
        if wanted.contains(.write), hasRoom { callHandler { $0.transportIsWritable(self) } }
        update()
    }
}

/// What the library has encrypted and its transport has not taken.
@NetworkActor
struct CiphertextQueue {
    private var rest: [UInt8] = []
    private var start = 0
    /// Nothing waits, here or in the side.
    private(set) var isEmpty = false

    /// The library may have more.
    mutating func expectMore() { isEmpty = false }

    /// Sends what the transport takes.
    mutating func flush(_ side: any SecurityConnection, into transport: any LoopTransport) throws(SystemError) {
        let departure = EventLoop.shared.departingRecords
        while true {
            if start < rest.count {
                start += try transport.send(rest, start..<rest.count)
                guard start == rest.count else {
                    isEmpty = false
                    return
                }
                rest.removeAll(keepingCapacity: true)
                start = 0
            }
            let count = min(side.sendCiphertext(into: departure), departure.count)
            guard count > 0 else {
                isEmpty = true
                return
            }
            let sent = try transport.send(UnsafeRawBufferPointer(rebasing: departure[..<count]))
            rest.append(contentsOf: departure[sent..<count])
        }
    }

    /// Removes and returns everything.
    mutating func takeAll(of side: any SecurityConnection) -> [UInt8] {
        let departure = EventLoop.shared.departingRecords
        var all = [UInt8](rest[start...])
        while case let count = min(side.sendCiphertext(into: departure), departure.count), count > 0 {
            all.append(contentsOf: departure[..<count])
        }
        self = CiphertextQueue()
        isEmpty = true
        return all
    }
}
