internal import PurlIO

/// Writes one response to a socket, no faster than the client takes it and its script wants it.
@NetworkActor
final class ResponseWriter {
    /// How far writing is.
    enum Progress: Equatable {
        /// Continues when the socket is writable: it is full, or other connections have their turn.
        case blocked
        /// Continues when `onResume` is called.
        case paused
        /// Continues when `onResume` is called. Until then the script lets nothing be sent.
        case stalled
        case ended(LoopbackServer.Ending)
    }

    /// Bytes that are sent together: heads and chunk framing, then perhaps some of the body.
    private struct Batch {
        var bytes: [UInt8] = []
        var bodyStart = 0
        var sent = 0

        var holdsBody: Bool { bodyStart < bytes.count }
    }

    /// How far writing was at the last ``advance()``.
    private(set) var progress = Progress.paused
    /// Whether the connection takes another request after this response.
    let keepsConnection: Bool

    private static let batchSize: Int64 = 16 << 10
    private static let bytesPerTurn = 1 << 20

    private let transport: any LoopTransport
    private let content: ContentReader
    private let bodyBytesSent: @NetworkActor (Int) -> Void
    private let onResume: @NetworkActor (ResponseWriter) -> Void
    private var script: ResponseScript
    private var throttle: Throttle?
    private var step: ResponseScript.Step?
    private var batch = Batch()
    private var timer: LoopTimer?

    /// Prepares to write a response.
    ///
    /// - Parameters:
    ///   - response: What to write.
    ///   - transport: Where to write it.
    ///   - bodyBytesSent: Called with how many bytes of the body the transport has taken.
    ///   - onResume: Called when a pause is over and ``advance()`` should be called again.
    init(
        _ response: Response, to transport: any LoopTransport, bodyBytesSent: @escaping @NetworkActor (Int) -> Void,
        onResume: @escaping @NetworkActor (ResponseWriter) -> Void
    ) {
        self.transport = transport
        self.bodyBytesSent = bodyBytesSent
        self.onResume = onResume
        script = response.script
        content = response.content
        keepsConnection = response.keepsConnection
        throttle = response.bytesPerSecond.map { Throttle(bytesPerSecond: $0, now: .current) }
    }

    /// Writes what can be written now.
    func advance() -> Progress {
        progress = write()
        return progress
    }

    /// Cancels the timer of a pause.
    func cancel() {
        timer?.cancel()
    }

    private func write() -> Progress {
        var budget = Self.bytesPerTurn
        do {
            while budget > 0 {
                step = step ?? script.next()
                switch step {
                case .bytes(let bytes):
                    if batch.holdsBody, try !flush() { return .blocked }
                    batch.bytes += bytes
                    batch.bodyStart = batch.bytes.count
                    step = nil
                    if batch.bytes.count >= Self.batchSize, try !flush() { return .blocked }
                case .content(let range):
                    if let progress = try write(range, &budget) { return progress }
                case .turn:
                    guard try flush() else { return .blocked }
                    step = nil
                    NetworkActor.post { [weak self] in self?.resume() }
                    return .paused
                case .fault(let fault):
                    guard try flush() else { return .blocked }
                    step = nil
                    if let progress = perform(fault) { return progress }
                case nil:
                    return try flush() ? .ended(.complete) : .blocked
                }
            }
            return .blocked
        } catch {
            return .ended(.clientLeft)
        }
    }

    // MARK: Content

    private func write(_ range: Range<Int64>, _ budget: inout Int) throws(SystemError) -> Progress? {
        if range.count <= Self.batchSize, throttle == nil, !batch.holdsBody {
            let count = content.withBytes(range) { bytes in
                batch.bytes.append(contentsOf: bytes)
                return bytes.count
            }
            return drop(count, of: range)
        }
        guard try flush() else { return .blocked }
        var limit = range.count
        if let allowance = throttle?.allowance(at: .current) {
            guard allowance > 0 else {
                resume(after: throttle?.delay ?? .zero)
                return .paused
            }
            limit = min(limit, allowance)
        }
        let allowed = range.lowerBound..<(range.lowerBound + Int64(limit))
        let result = content.withBytes(allowed) { bytes in
            bytes.isEmpty ? nil : Result { () throws(SystemError) -> Int in try transport.send(bytes) }
        }
        guard let count = try result?.get() else { return .ended(.cut) }
        guard count > 0 else { return .blocked }
        bodyBytesSent(count)
        throttle?.spend(count)
        budget -= count
        return drop(count, of: range)
    }

    /// Removes `count` written bytes from the current step. None means that a file has become shorter since the head was
    /// written: the response ends there.
    private func drop(_ count: Int, of range: Range<Int64>) -> Progress? {
        guard count > 0 else { return .ended(.cut) }
        let rest = (range.lowerBound + Int64(count))..<range.upperBound
        step = rest.isEmpty ? nil : .content(rest)
        return nil
    }

    /// Sends the batch.
    ///
    /// - Returns: Whether the transport took all of it.
    private func flush() throws(SystemError) -> Bool {
        while batch.sent < batch.bytes.count {
            let count = try transport.send(batch.bytes, batch.sent..<batch.bytes.count)
            guard count > 0 else { return false }
            let bodyBefore = max(0, batch.sent - batch.bodyStart)
            batch.sent += count
            let bodyNow = max(0, batch.sent - batch.bodyStart)
            if bodyNow > bodyBefore { bodyBytesSent(bodyNow - bodyBefore) }
        }
        batch.bytes.removeAll(keepingCapacity: true)
        batch.bodyStart = 0
        batch.sent = 0
        return true
    }

    // MARK: Faults

    private func perform(_ fault: Reply.Fault) -> Progress? {
        switch fault {
        case .stall(let gate):
            let isOpen = gate?.arrive { [weak self] in NetworkActor.post { self?.resume() } }
            return isOpen == true ? nil : .stalled
        case .pause(let duration):
            resume(after: duration)
            return .stalled
        case .cut:
            return .ended(.cut)
        case .reset:
            return .ended(.reset)
        case .record(let fault):
            switch (transport as? ServerTLSTransport)?.perform(fault) {
            case .sendingContinues, nil: return nil
            case .nothingIsSent: return .stalled
            case .streamEnds: return .ended(.cut)
            }
        }
    }

    private func resume(after delay: Duration) {
        timer = EventLoop.shared.schedule(after: delay) { [weak self] in self?.resume() }
    }

    private func resume() {
        onResume(self)
    }
}

/// How much of a throttled body may be sent by now. Time spent in stalls gives no credit.
struct Throttle {
    private let bytesPerSecond: Double
    private let quantum: Double
    private var credit: Double
    private var last: MonotonicTime

    /// Starts with the right to send a fiftieth of a second's bytes.
    init(bytesPerSecond: Int, now: MonotonicTime) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        quantum = max(1, self.bytesPerSecond / 50)
        credit = quantum
        last = now
    }

    /// How many bytes may be sent now. Not fewer than one quantum, or none.
    mutating func allowance(at now: MonotonicTime) -> Int {
        let passed = Double(max(0, now.nanoseconds - last.nanoseconds)) / 1e9
        last = now
        credit = min(credit + passed * bytesPerSecond, quantum * 10)
        return credit >= quantum ? Int(credit) : 0
    }

    /// How long until a quantum may be sent.
    var delay: Duration { .seconds(max(0, quantum - credit) / bytesPerSecond) + .milliseconds(1) }

    /// Takes `count` bytes off what may be sent.
    mutating func spend(_ count: Int) {
        credit -= Double(count)
    }
}
