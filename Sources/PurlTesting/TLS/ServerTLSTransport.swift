internal import PurlIO

/// The content of a TLS connection on the server's side, over the transport that carries its records.
///
/// The handshake happens in here: until it is done nothing has arrived, and there is no room to send. What goes wrong in it,
/// and in the records after it, is made here, too, so that those who use the transport count bytes of content.
@NetworkActor
final class ServerTLSTransport: LoopTransport, TransportHandler {
    typealias HandshakeObserver = @NetworkActor (Result<ReceivedHandshake, TestAuthority.Failure>) -> Void

    private enum Stage {
        /// The client's first message has not arrived.
        case waitingForClient
        case negotiating
        /// A fault stalls the handshake.
        case stalled
        /// The handshake has failed. What arrives is discarded until the client ends its stream, or the time is over: a
        /// connection that is closed earlier is reset, and the client may lose the alert.
        case refused(LoopTimer)
        case open
    }

    private enum Incoming {
        case open
        /// The client has ended its stream.
        case ended
        case failed(SystemError)
    }

    private enum Outgoing {
        case open
        /// `close_notify` was sent, and nothing follows it.
        case notified
        /// The stream ends behind what waits.
        case ended
        case failed(SystemError)
    }

    /// What is still to be sent of the server's first messages, and what goes wrong with them.
    private enum FlightStep {
        case bytes([UInt8])
        case fault(ServerTLS.HandshakeFault)
    }

    /// The most content that is encrypted in one call.
    private static let portion = 65_536
    /// So many times the lower transport is read before others have their turn.
    private static let readsPerTurn = 16
    private static let lingering = Duration.seconds(5)
    private static let arrival = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 64)

    private let lower: any LoopTransport
    private let session: ServerTLSSession
    private let faults: [ServerTLS.HandshakePhase: ServerTLS.HandshakeFault]
    private weak var weakHandler: (any TransportHandler)?
    private var observer: (number: Int, report: HandshakeObserver)?
    private var wanted: TransportInterest = []
    private var stage = Stage.waitingForClient
    private var flight: ArraySlice<FlightStep> = []
    private var incoming = Incoming.open
    private var outgoing = Outgoing.open
    private var ciphertext = PendingRecords()
    private var isClosed = false
    /// The session may hold content that arrived with other content.
    private var mayHoldContent = false
    private var report: LoopTimer?

    /// Takes over the transport of a new connection.
    init(
        over lower: any LoopTransport, _ session: ServerTLSSession,
        faults: [ServerTLS.HandshakePhase: ServerTLS.HandshakeFault]
    ) {
        (self.lower, self.session, self.faults) = (lower, session, faults)
        lower.handler = self
        update()
    }

    /// Calls `report` once with the end of the handshake, unless the connection is closed before.
    ///
    /// - Parameter number: The connection's.
    func observeHandshake(of number: Int, _ report: @escaping HandshakeObserver) {
        observer = (number, report)
    }

    var handler: (any TransportHandler)? {
        get { weakHandler }
        set { weakHandler = newValue }
    }

    var interest: TransportInterest {
        get { wanted }
        set {
            wanted = isClosed ? [] : newValue
            update()
        }
    }

    var isOpen: Bool { !isClosed && lower.isOpen }
    var localAddress: SocketAddress? { lower.localAddress }
    var peerAddress: SocketAddress? { lower.peerAddress }
    var isQuiet: Bool { isOpen && !hasArrived && lower.isQuiet }

    // MARK: The handshake

    private func proceed() {
        switch stage {
        case .waitingForClient, .negotiating: break
        case .stalled, .refused, .open: return
        }
        let step = session.handshake()
        var output: [UInt8] = []
        session.takeOutput(into: &output)
        if case .waitingForClient = stage, !output.isEmpty {
            stage = .negotiating
            plan(output)
            runFlight()
        } else {
            ciphertext.append(output)
        }
        switch stage {
        case .waitingForClient, .negotiating: break
        case .stalled, .refused, .open: return flush()
        }
        switch step {
        case .waiting: flush()
        case .done:
            stage = .open
            mayHoldContent = true
            // Before the client can know.
            tell { .success(session.agreement(of: $0)) }
            flush()
        case .failed(let reason):
            refuse(reason)
        }
    }

    private func tell(_ result: (Int) -> Result<ReceivedHandshake, TestAuthority.Failure>) {
        guard let (number, report) = observer else { return }
        observer = nil
        report(result(number))
    }

    /// Divides the first messages by the faults in them.
    private func plan(_ output: [UInt8]) {
        var bytes = output
        let places: [(ServerTLS.HandshakePhase, Int)] = [
            (.beforeFirstFlight, 0), (.midFirstFlight, bytes.count / 2), (.afterFirstFlight, bytes.count),
        ]
        var steps: [FlightStep] = []
        var start = 0
        for (phase, place) in places {
            guard let fault = faults[phase] else { continue }
            if let change = RecordChange(fault) {
                if let rest = change.apply(to: &bytes, from: place) { ciphertext.changeNext(rest) }
            } else {
                // The changes that follow are all behind this place.
                steps += [.bytes(Array(bytes[start..<place])), .fault(fault)]
                start = place
            }
        }
        flight = (steps + [.bytes(Array(bytes[start...]))])[...]
    }

    private func runFlight() {
        while let step = flight.popFirst() {
            switch step {
            case .bytes(let bytes): ciphertext.append(sent: bytes)
            case .fault(.stall(let gate)):
                let isOpen = gate?.arrive { [weak self] in NetworkActor.post { self?.resumeFlight() } }
                if isOpen == true { continue }
                stage = .stalled
                return
            case .fault(.cut): return refuse("the script cuts the handshake")
            case .fault(.reset):
                fail(SystemError(code: ECONNRESET, operation: "handshake"), "the script resets the connection")
                return lower.reset()
            case .fault(.alert(let alert)):
                // RFC 8446 §5.1, §6: a record with the level and the number.
                ciphertext.append(sent: [21, 3, 3, 0, 2, 2, alert.rawValue])
                return refuse("the script sends the alert \(alert.rawValue)")
            case .fault(.plainText(let text)):
                ciphertext.append(sent: Array(text.utf8))
                return refuse("the script sends plain text")
            case .fault(.wrongLength), .fault(.flippedBit): break
            }
        }
    }

    private func resumeFlight() {
        guard isOpen, case .stalled = stage else { return }
        stage = .negotiating
        runFlight()
        flush()
        proceed()
        update()
    }

    /// Ends a handshake that has failed: behind what waits ends the stream.
    private func refuse(_ reason: String) {
        flight = []
        let timer = EventLoop.shared.schedule(after: Self.lingering) { [weak self] in
            self?.fail(SystemError(code: ECONNABORTED, operation: "handshake"), reason)
            self?.update()
        }
        stage = .refused(timer)
        outgoing = .ended
        // Before the client can know.
        tell { _ in .failure(TestAuthority.Failure(reason)) }
        flush()
    }

    private func fail(_ error: SystemError, _ reason: String) {
        incoming = .failed(error)
        outgoing = .failed(error)
        tell { _ in .failure(TestAuthority.Failure(reason)) }
    }

    // MARK: Receiving

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        defer { update() }
        var filled = 0
        var reads = 0
        while filled < buffer.count {
            switch incoming {
            case .open: break
            case .ended: return filled
            case .failed(let error):
                if filled > 0 { return filled }
                throw error
            }
            let count = decrypt(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            filled += count
            guard count == 0, case .open = incoming else { continue }
            mayHoldContent = false
            if filled > 0 { return filled }
            reads += 1
            guard reads <= Self.readsPerTurn, takeArrived() else { return nil }
        }
        mayHoldContent = true
        return filled
    }

    private func decrypt(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard case .open = stage else { return 0 }
        let step = session.read(into: buffer)
        takeOutput()
        flush()
        switch step {
        case .done(.content(let count)): return count
        case .waiting: break
        case .done(.end): incoming = .ended
        case .failed: incoming = .failed(SystemError(code: EPROTO, operation: "TLS"))
        }
        return 0
    }

    /// Gives the session what has arrived, which may continue the handshake. False when nothing has.
    private func takeArrived() -> Bool {
        do throws(SystemError) {
            guard let count = try lower.receive(into: Self.arrival) else { return false }
            if count == 0 {
                incoming = .ended
                giveUpHandshake("the client has left during the handshake")
            } else if case .refused = stage {
                return true
            } else {
                session.receive(UnsafeRawBufferPointer(rebasing: Self.arrival[..<count]))
                proceed()
            }
        } catch {
            incoming = .failed(error)
            giveUpHandshake("the client has reset the connection during the handshake")
        }
        return true
    }

    /// Without its client a handshake is never done, and nothing can be sent.
    private func giveUpHandshake(_ reason: String) {
        switch stage {
        case .waitingForClient, .negotiating, .stalled:
            outgoing = .failed(SystemError(code: EPIPE, operation: "handshake"))
        case .refused, .open: break
        }
        tell { _ in .failure(TestAuthority.Failure(reason)) }
    }

    // MARK: Sending

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if bytes.isEmpty { return 0 }
        defer { update() }
        flush()
        var taken = 0
        while taken < bytes.count {
            switch outgoing {
            case .open: break
            case .notified, .ended: throw SystemError(code: EPIPE, operation: "send")
            case .failed(let error):
                if taken > 0 { return taken }
                throw error
            }
            guard case .open = stage, ciphertext.isEmpty else { break }
            // A record that is to be changed comes by itself.
            let limit = ciphertext.changesNext ? 16_384 : Self.portion
            let end = min(bytes.count, taken + limit)
            guard case .done = session.write(UnsafeRawBufferPointer(rebasing: bytes[taken..<end])) else {
                outgoing = .failed(SystemError(code: EPROTO, operation: "TLS"))
                continue
            }
            taken = end
            takeOutput()
            flush()
        }
        // The rest of a record that is withheld, for a client that has left, is never sent.
        if taken == 0, ciphertext.isWithheld, isOver { throw SystemError(code: EPIPE, operation: "send") }
        return taken
    }

    private func takeOutput() {
        var output: [UInt8] = []
        session.takeOutput(into: &output)
        ciphertext.append(output) { [weak self] gate in
            gate.arrive { NetworkActor.post { self?.resumeRecord() } }
        }
    }

    private func resumeRecord() {
        guard isOpen else { return }
        ciphertext.release()
        flush()
        update()
    }

    private func flush() {
        if case .failed = outgoing { return }
        do throws(SystemError) {
            try ciphertext.flush(into: lower)
            if case .ended = outgoing, ciphertext.isEmpty { lower.shutdownWrite() }
        } catch {
            outgoing = .failed(error)
        }
    }

    // MARK: Faults in the records

    /// What follows a fault.
    enum Consequence {
        case sendingContinues
        case nothingIsSent
        case streamEnds
    }

    /// Lets something go wrong behind what was sent.
    func perform(_ fault: Reply.RecordFault) -> Consequence {
        defer { update() }
        guard case .open = outgoing, case .open = stage else { return .sendingContinues }
        switch fault {
        case .truncated:
            outgoing = .ended
            flush()
            return .streamEnds
        case .closeNotify:
            session.finishWriting()
            takeOutput()
            outgoing = .notified
            flush()
            return .nothingIsSent
        case .wrongLength(let length): ciphertext.changeNext(.length(length))
        case .flippedBit: ciphertext.changeNext(.flippedBit(at: PendingRecords.headLength))
        case .stalled(let gate): ciphertext.withholdNext(until: gate)
        }
        return .sendingContinues
    }

    // MARK: Ends

    func shutdownWrite() {
        guard isOpen, case .open = outgoing else { return }
        endSession()
        outgoing = .ended
        flush()
        update()
    }

    private func endSession() {
        guard case .open = stage else { return }
        session.finishWriting()
        takeOutput()
    }

    func close() {
        guard isOpen else { return }
        if case .open = outgoing {
            endSession()
            flush()
        }
        stop()
        lower.close()
    }

    func reset() {
        guard isOpen else { return }
        stop()
        lower.reset()
    }

    private func stop() {
        isClosed = true
        wanted = []
        observer = nil
        report?.cancel()
        report = nil
        if case .refused(let timer) = stage { timer.cancel() }
        lower.handler = nil
    }

    // MARK: Events

    private var isOver: Bool {
        switch incoming {
        case .open: false
        case .ended, .failed: true
        }
    }

    private var isNegotiating: Bool {
        switch stage {
        case .waitingForClient, .negotiating, .stalled, .refused: true
        case .open: false
        }
    }

    /// Whether the handler can be called though the lower transport reports nothing.
    private var hasArrived: Bool { mayHoldContent || isOver }

    /// Whether something can be sent, or the next call that sends throws.
    private var hasRoom: Bool {
        switch outgoing {
        case .failed, .notified, .ended: true
        case .open:
            if case .open = stage { ciphertext.isEmpty || ciphertext.isWithheld && isOver } else { false }
        }
    }

    /// Watches for what the owner wants, for what the handshake needs, and for room where something waits.
    private func update() {
        if isClosed { return }
        let isReading = wanted.contains(.read)
        // A fault may have reset it.
        if lower.isOpen {
            var needed: TransportInterest = []
            if !isOver, isNegotiating || isReading && !mayHoldContent { needed.insert(.read) }
            if case .failed = outgoing {} else if ciphertext.canFlush { needed.insert(.write) }
            if lower.interest != needed { lower.interest = needed }
        }
        let isDue = isReading && hasArrived || wanted.contains(.write) && hasRoom
        if isDue, report == nil {
            report = EventLoop.shared.schedule(after: .zero) { [weak self] in self?.reportReadiness() }
        }
    }

    private func reportReadiness() {
        report = nil
        if wanted.contains(.read), hasArrived { callHandler { $0.transportIsReadable(self) } }
        if wanted.contains(.write), hasRoom { callHandler { $0.transportIsWritable(self) } }
        update()
    }

    private func callHandler(_ call: (any TransportHandler) -> Void) {
        if let handler { call(handler) } else { wanted = [] }
    }

    func transportIsReadable(_ transport: any LoopTransport) {
        if isNegotiating {
            // The owner may not be interested in anything yet.
            for _ in 0..<Self.readsPerTurn where isNegotiating && !isOver && takeArrived() {}
        } else if wanted.contains(.read) {
            callHandler { $0.transportIsReadable(self) }
        }
        update()
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        flush()
        update()
    }
}

/// Records that the lower transport has not taken, and what is to be wrong with the next ones.
@NetworkActor
struct PendingRecords {
    /// How many bytes come before the content of a record (RFC 8446 §5.1).
    nonisolated static let headLength = 5

    /// How far a record is sent that a fault stalls in its middle.
    private enum Withholding {
        case none
        /// The next record will be.
        case planned(ServerGate?)
        /// The rest of one, and all that follows it.
        case rest([UInt8])
    }

    private var bytes: [UInt8] = []
    private var start = 0
    private var change: RecordChange?
    private var withholding = Withholding.none

    var isEmpty: Bool { start == bytes.count && !isWithheld }
    var canFlush: Bool { start < bytes.count }
    var isWithheld: Bool { if case .rest = withholding { true } else { false } }

    /// Whether something is planned for the next record.
    var changesNext: Bool {
        if case .planned = withholding { return true }
        return change != nil
    }

    mutating func changeNext(_ change: RecordChange) { self.change = change }

    mutating func withholdNext(until gate: ServerGate?) { withholding = .planned(gate) }

    /// Adds bytes as they are.
    mutating func append(sent more: [UInt8]) { bytes += more }

    /// Adds whole records, and changes them as planned.
    ///
    /// - Parameter arrive: Waits at a gate; returns whether it is open.
    mutating func append(_ records: [UInt8], arrive: (ServerGate) -> Bool = { _ in false }) {
        if records.isEmpty { return }
        var records = records
        change = change?.apply(to: &records, from: 0)
        switch withholding {
        case .none: bytes += records
        case .rest(let rest): withholding = .rest(rest + records)
        case .planned(let gate):
            let half = Self.headLength + (records.count - Self.headLength) / 2
            bytes += records[..<half]
            withholding = .rest(Array(records[half...]))
            if let gate, arrive(gate) { release() }
        }
    }

    /// Sends from now on what was withheld.
    mutating func release() {
        guard case .rest(let rest) = withholding else { return }
        withholding = .none
        bytes += rest
    }

    /// Sends what the transport takes.
    mutating func flush(into transport: any LoopTransport) throws(SystemError) {
        while start < bytes.count {
            let count = try transport.send(bytes, start..<bytes.count)
            guard count > 0 else { return }
            start += count
        }
        bytes.removeAll(keepingCapacity: bytes.count <= 1 << 18)
        start = 0
    }
}

/// What is wrong with a record.
enum RecordChange {
    /// It announces this length.
    case length(UInt16)
    /// The lowest bit of the byte at this place is wrong.
    case flippedBit(at: Int)

    /// The change of a fault in the handshake; `nil` where that is none of bytes.
    init?(_ fault: ServerTLS.HandshakeFault) {
        switch fault {
        case .wrongLength(let length): self = .length(length)
        case .flippedBit(let place): self = .flippedBit(at: max(0, place))
        case .stall, .cut, .reset, .alert, .plainText: return nil
        }
    }

    /// Changes whole records, the first one that begins at `start` or behind it.
    ///
    /// - Returns: What is to be changed in the records that follow; `nil` when it was done.
    func apply(to records: inout [UInt8], from start: Int) -> RecordChange? {
        switch self {
        case .flippedBit(let place):
            guard start + place < records.count else { return .flippedBit(at: start + place - records.count) }
            records[start + place] ^= 1
        case .length(let length):
            var record = 0
            while record < start, record + 4 < records.count {
                record += PendingRecords.headLength + Int(records[record + 3]) << 8 + Int(records[record + 4])
            }
            guard record + 4 < records.count else { return self }
            records[record + 3] = UInt8(length >> 8)
            records[record + 4] = UInt8(length & 0xFF)
        }
        return nil
    }
}
