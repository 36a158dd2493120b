internal import PurlIO

/// Writes one answer to a socket, as fast as the client takes it and no faster than the script wants.
@NetworkActor
final class AnswerWriter {
    /// How far writing has come.
    enum Progress {
        /// The socket takes no more for now, or others should have a turn: go on when it is writable.
        case blocked
        /// Nothing to write until `resume` is called.
        case paused
        /// Over.
        case ended(Ending)
    }

    /// Whether nothing more would be written even if the socket took it: a script's stall or pause.
    private(set) var isStalled = false

    private static let coalescedBytes: Int64 = 16 << 10
    private static let bytesPerTurn = 1 << 20

    private let socket: StreamSocket
    private let content: ContentReader
    private let bodyBytesSent: @NetworkActor (Int) -> Void
    private let resume: @Sendable @NetworkActor () -> Void
    private var script: AnswerScript
    private var throttle: Throttle?
    private var step: AnswerScript.Step?
    private var staged = Staged()
    private var timer: LoopTimer?

    /// Bytes on their way to the socket that are not content in place: framing first, then perhaps some body.
    private struct Staged {
        var bytes: [UInt8] = []
        var bodyStart = 0
        var sent = 0

        var holdsBody: Bool { bodyStart < bytes.count }
    }

    /// Writes `answer`. Calls `bodyBytesSent` with what the socket took of the body, `resume` after a pause.
    init(
        _ answer: Answer, to socket: StreamSocket, bodyBytesSent: @escaping @NetworkActor (Int) -> Void,
        resume: @escaping @Sendable @NetworkActor () -> Void
    ) {
        self.socket = socket
        self.bodyBytesSent = bodyBytesSent
        self.resume = resume
        script = answer.script
        content = answer.content
        throttle = answer.bytesPerSecond.map { Throttle(bytesPerSecond: $0, now: .current) }
    }

    /// Writes what can be written now.
    func advance() -> Progress {
        isStalled = false
        var budget = Self.bytesPerTurn
        do {
            while budget > 0 {
                step = step ?? script.next()
                switch step {
                case .bytes(let bytes):
                    if staged.holdsBody, try !flush() { return .blocked }
                    staged.bytes += bytes
                    staged.bodyStart = staged.bytes.count
                    step = nil
                    if staged.bytes.count >= Self.coalescedBytes, try !flush() { return .blocked }
                case .content(let range):
                    if let progress = try advance(through: range, &budget) { return progress }
                case .turn:
                    guard try flush() else { return .blocked }
                    step = nil
                    NetworkActor.post(resume)
                    return .paused
                case .mishap(let mishap):
                    guard try flush() else { return .blocked }
                    step = nil
                    if let progress = perform(mishap) { return progress }
                case nil:
                    return try flush() ? .ended(.complete) : .blocked
                }
            }
            return .blocked
        } catch {
            return .ended(.clientLeft)
        }
    }

    /// Drops timers.
    func cancel() {
        timer?.cancel()
    }

    // MARK: Content

    private func advance(through range: Range<Int64>, _ budget: inout Int) throws(SystemError) -> Progress? {
        if range.count <= Self.coalescedBytes, throttle == nil, !staged.holdsBody {
            let count = content.withBytes(range) { bytes in
                staged.bytes.append(contentsOf: bytes)
                return bytes.count
            }
            return moved(count, of: range)
        }
        guard try flush() else { return .blocked }
        var limit = range.count
        if let allowance = throttle?.allowance(at: .current) {
            guard allowance > 0 else { return pause(for: throttle?.delay ?? .zero) }
            limit = min(limit, allowance)
        }
        let allowed = range.lowerBound..<(range.lowerBound + Int64(limit))
        let result = content.withBytes(allowed) { bytes in
            bytes.isEmpty ? nil : Result { () throws(SystemError) -> Int in try socket.send(bytes) }
        }
        guard let count = try result?.get() else { return .ended(.cut) }
        guard count > 0 else { return .blocked }
        bodyBytesSent(count)
        throttle?.spend(count)
        budget -= count
        return moved(count, of: range)
    }

    /// Notes that `count` bytes of `range` are done. None: the file is not what it was, so the answer ends here.
    private func moved(_ count: Int, of range: Range<Int64>) -> Progress? {
        guard count > 0 else { return .ended(.cut) }
        let rest = (range.lowerBound + Int64(count))..<range.upperBound
        step = rest.isEmpty ? nil : .content(rest)
        return nil
    }

    /// False: the socket did not take everything.
    private func flush() throws(SystemError) -> Bool {
        while staged.sent < staged.bytes.count {
            let count = try socket.send(staged.bytes, staged.sent..<staged.bytes.count)
            guard count > 0 else { return false }
            let bodyBefore = max(0, staged.sent - staged.bodyStart)
            staged.sent += count
            let bodyNow = max(0, staged.sent - staged.bodyStart)
            if bodyNow > bodyBefore { bodyBytesSent(bodyNow - bodyBefore) }
        }
        staged.bytes.removeAll(keepingCapacity: true)
        staged.bodyStart = 0
        staged.sent = 0
        return true
    }

    // MARK: Mishaps

    private func perform(_ mishap: Mishap) -> Progress? {
        switch mishap {
        case .stall(let gate):
            let resume = resume
            if let gate, gate.arrive(depart: { NetworkActor.post(resume) }) { return nil }
            isStalled = true
            return .paused
        case .pause(let duration):
            isStalled = true
            return pause(for: duration)
        case .cut:
            return .ended(.cut)
        case .reset:
            return .ended(.reset)
        }
    }

    private func pause(for duration: Duration) -> Progress {
        let resume = resume
        timer = EventLoop.shared.schedule(after: duration, resume)
        return .paused
    }
}
