import PurlIO

/// One direction of a simulated connection: segments on their way, bytes that have arrived and wait to be read, and room for so
/// many of both.
@NetworkActor final class NetworkPipe {
    /// How a direction ends.
    enum End {
        /// Nothing is sent any more (FIN).
        case finished
        /// The connection is reset (RST).
        case reset
    }

    /// Who is told what arrives, and of room.
    private weak var reader: SimulatedSocket?
    private weak var writer: SimulatedSocket?

    /// When a kernel gives up a connection on which nothing is acknowledged.
    private static let kernelPatience: Int64 = 900_000_000_000

    private let wire: Wire
    private let direction: Link.Direction
    private let scheduler: Scheduler
    private let faults: Faults
    private var random: SeededRandom
    /// The bytes that were sent and not read, as the sender knows.
    private var occupied = 0
    private var sent = 0
    private var unarrived = 0
    private var arrived: [UInt8] = []
    private var taken = 0
    private var arrivedEnd: End?
    private var lastArrival: Int64 = 0
    private var isReaderGone = false
    private var line: SimulatedNetwork.Line { wire.line }

    nonisolated init(
        _ wire: Wire, _ direction: Link.Direction, _ scheduler: Scheduler, _ faults: Faults, _ random: SeededRandom
    ) {
        self.wire = wire
        self.direction = direction
        self.scheduler = scheduler
        self.faults = faults
        self.random = random
    }

    /// Attaches the end that reads.
    func attach(reader: SimulatedSocket) {
        self.reader = reader
    }

    /// Attaches the end that sends.
    func attach(writer: SimulatedSocket) {
        self.writer = writer
    }

    // MARK: Sending

    /// How many bytes may be sent now.
    var room: Int { line.room - occupied }
    /// Whether a sender that waits for room is told: as with TCP, not for every byte.
    var hasRoom: Bool { room > line.room / 3 }
    /// How many bytes have not reached the other side.
    var unacknowledged: Int { unarrived }

    /// Takes as many bytes as there is room for.
    func send(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, room)
        var start = 0
        while start < count {
            let length = segmentLength(atMost: count - start)
            let segment = [UInt8](bytes[start..<start + length])
            start += length
            unarrived += length
            meetFaults(isEdge: sent < 2_048)
            sent += length
            arrive(length) { $0.receive(segment) }
        }
        occupied += count
        return count
    }

    /// Ends the direction after what was sent.
    func end(_ end: End) {
        meetFaults(isEdge: true)
        arrive(0) { $0.receive(end) }
    }

    /// Before a segment is sent something may happen to the connection, the link or the server.
    private func meetFaults(isEdge: Bool) {
        guard let process = writer?.process, wire.broken == nil else { return }
        let words = "connection \(wire.number)"
        if faults.strikes(.stalls, isEdge: isEdge, process, "\(words) stalls after \(sent) bytes") {
            lastArrival = max(lastArrival, scheduler.time) + faults.drawStall()
        }
        if faults.strikes(.partitions, isEdge: isEdge, process, "\(words) and its like are cut off") {
            wire.link.cut(until: scheduler.time + faults.drawStall())
        }
        if faults.strikes(.slowLinks, isEdge: isEdge, process, "\(words) and its like are slow") {
            wire.link.slow(until: scheduler.time + faults.drawStall())
        }
        if let server = wire.server, faults.strikes(.restarts, isEdge: isEdge, process, "\(server.host) is restarted") {
            let pause = faults.drawStall()
            scheduler.schedule(after: 0, for: server.process) { server.restart(for: pause) }
        }
        if faults.strikes(.halfOpen, isEdge: isEdge, process, "\(words) is half open after \(sent) bytes") {
            wire.end(.silent)
            for end in [writer, reader] {
                guard let end else { continue }
                endLater(end, after: min(end.patience ?? Self.kernelPatience, Self.kernelPatience))
            }
        } else if faults.strikes(.resets, isEdge: isEdge, process, "\(words) is reset after \(sent) bytes") {
            wire.end(.reset)
            for end in [writer, reader] {
                guard let end else { continue }
                endLater(end, after: line.latency)
            }
        }
    }

    private func endLater(_ end: SimulatedSocket, after delay: Int64) {
        scheduler.schedule(after: delay, for: end.process) {
            end.wasReset()
            end.becameReady()
        }
    }

    /// Segments stay in order. Where one of them ends is left to chance; where a message begins, small ones are likely.
    private func segmentLength(atMost limit: Int) -> Int {
        let longest = sent < 2_048 && random.oneIn(4) ? 1 + random.index(below: 64) : line.segment
        let length = random.oneIn(8) ? 1 + random.index(below: longest) : longest
        return min(limit, length)
    }

    private func arrive(_ count: Int, _ action: @escaping @NetworkActor (NetworkPipe) -> Void) {
        guard let process = reader?.process ?? writer?.process, wire.broken != .silent else { return }
        let departure = max(wire.link.departure(of: count, at: scheduler.time, direction), wire.link.cutUntil)
        lastArrival = max(lastArrival, departure + line.latency)
        scheduler.schedule(after: lastArrival - scheduler.time, for: process) { action(self) }
    }

    // MARK: Arriving

    private func receive(_ segment: [UInt8]) {
        unarrived -= segment.count
        guard arrivedEnd == nil, wire.broken == nil else { return }
        guard !isReaderGone else { return refuse() }
        arrived.append(contentsOf: segment)
        reader?.becameReady()
    }

    private func receive(_ end: End) {
        guard wire.broken == nil, !isReaderGone, arrivedEnd == nil || end == .reset else { return }
        arrivedEnd = end
        if end == .reset { reader?.wasReset() }
        reader?.becameReady()
    }

    /// What arrives where nothing reads any more is answered by a reset.
    private func refuse() {
        guard let writer else { return }
        scheduler.schedule(after: line.latency, for: writer.process) {
            writer.wasReset()
            writer.becameReady()
        }
    }

    // MARK: Reading

    var unread: Int { arrived.count - taken }
    var isReadable: Bool { unread > 0 || arrivedEnd != nil }

    /// Takes bytes that have arrived; 0 at the end, `nil` when there are none.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard unread > 0 else { return arrivedEnd == nil ? nil : 0 }
        let count = min(buffer.count, unread)
        buffer.copyBytes(from: arrived[taken..<taken + count])
        taken += count
        if unread == 0 { (arrived, taken) = ([], 0) }
        giveRoom(count)
        return count
    }

    /// Nothing is read any more. Returns whether something was left.
    func stopReading() -> Bool {
        isReaderGone = true
        let wasLeft = unread > 0
        (arrived, taken) = ([], 0)
        return wasLeft
    }

    /// The sender learns later what was read.
    private func giveRoom(_ count: Int) {
        guard let writer, wire.broken != .silent else { return }
        scheduler.schedule(after: line.latency, for: writer.process) {
            self.occupied -= count
            writer.becameReady()
        }
    }
}
