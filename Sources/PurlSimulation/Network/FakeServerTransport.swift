import PurlIO

/// The content of a connection over the feigned security layer, on the server's side.
@NetworkActor final class FakeServerTransport: LoopTransport, TransportHandler {
    /// How much content waits to be read before no more is taken from the connection.
    private static let mostContent = 64 << 10
    /// A record's kind and length.
    private static let recordHead = 3

    private let lower: SimulatedSocket
    private weak var weakHandler: (any TransportHandler)?
    private var wanted: TransportInterest = []
    private var reader = FakeReader()
    private var content: [UInt8] = []
    private var taken = 0
    private var hasEnded = false
    private var failure: SystemError?
    private var isSecure = false
    private var isReportDue = false

    init(over lower: SimulatedSocket) {
        self.lower = lower
        lower.handler = self
        update()
    }

    var handler: (any TransportHandler)? {
        get { weakHandler }
        set { weakHandler = newValue }
    }

    var interest: TransportInterest {
        get { wanted }
        set {
            wanted = newValue
            update()
            reportSoon()
        }
    }

    var isOpen: Bool { lower.isOpen }
    var localAddress: SocketAddress? { lower.localAddress }
    var peerAddress: SocketAddress? { lower.peerAddress }
    var delivery: DeliveryState? { lower.delivery }
    var isQuiet: Bool { isOpen && !hasArrived && lower.isQuiet }

    private var hasArrived: Bool { taken < content.count || hasEnded || failure != nil }

    private func update() {
        guard lower.isOpen else { return }
        var events: TransportInterest = []
        if content.count - taken < Self.mostContent, !hasEnded, failure == nil { events.insert(.read) }
        if wanted.contains(.write), isSecure { events.insert(.write) }
        lower.interest = events
    }

    /// What waits in here is reported in the next turn: no event of the connection does.
    private func reportSoon() {
        guard wanted.contains(.read), hasArrived, !isReportDue else { return }
        isReportDue = true
        lower.process.deliver { [weak self] in
            guard let self else { return }
            isReportDue = false
            guard isOpen, wanted.contains(.read), hasArrived else { return }
            handler?.transportIsReadable(self)
            reportSoon()
        }
    }

    // MARK: The connection below

    func transportIsReadable(_ transport: any LoopTransport) {
        var bytes = [UInt8](repeating: 0, count: 16_384)
        do {
            guard
                let count = try bytes.withUnsafeMutableBytes({ buffer throws(SystemError) in
                    try lower.receive(into: buffer)
                })
            else { return }
            if count == 0 { hasEnded = true }
            reader.append(bytes[..<count])
            while let (kind, record) = try reader.next() { take(kind, record) }
        } catch let error as SystemError {
            failure = error
        } catch {
            failure = SystemError(code: EPROTO, operation: "recv")
        }
        update()
        reportSoon()
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        if wanted.contains(.write) { handler?.transportIsWritable(self) }
    }

    private func take(_ kind: FakeRecord.Kind, _ record: [UInt8]) {
        switch kind {
        case .clientHello:
            isSecure = true
            sendRecord(.serverHello, Array("certificate".utf8))
        case .content: content += record
        case .closeNotify: hasEnded = true
        case .serverHello, .alert, .ticket, .keyRequest, .newKey: break
        }
    }

    /// Sends a record for which there is room.
    private func sendRecord(_ kind: FakeRecord.Kind, _ bytes: some Collection<UInt8>) {
        let record = FakeRecord.encode(kind, bytes)
        do {
            _ = try lower.send(record, 0..<record.count)
        } catch {
            failure = error
        }
    }

    // MARK: The content

    func receive(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        if buffer.isEmpty { return nil }
        let count = min(buffer.count, content.count - taken)
        guard count > 0 else {
            if let failure { throw failure }
            return hasEnded ? 0 : nil
        }
        buffer.copyBytes(from: content[taken..<taken + count])
        taken += count
        if taken == content.count { (content, taken) = ([], 0) }
        update()
        return count
    }

    func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int {
        if let failure { throw failure }
        // There is always room for the record that ends it.
        let count = min(bytes.count, 16_384, lower.room - 2 * Self.recordHead)
        guard count > 0, isSecure else { return try lower.send(UnsafeRawBufferPointer(rebasing: bytes[..<0])) }
        let record = FakeRecord.encode(.content, bytes[..<count])
        _ = try lower.send(record, 0..<record.count)
        return count
    }

    func fail(whenUnacknowledgedFor limit: Duration) { lower.fail(whenUnacknowledgedFor: limit) }

    func shutdownWrite() {
        if isOpen, lower.room >= Self.recordHead { sendRecord(.closeNotify, []) }
        lower.shutdownWrite()
    }

    func close() {
        if isOpen, lower.room >= Self.recordHead { sendRecord(.closeNotify, []) }
        lower.close()
    }

    func reset() { lower.reset() }
}
