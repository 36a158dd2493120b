import Foundation
internal import PurlIO

/// The server's side of a connection over which bytes go as they are: does what the script says.
@NetworkActor
final class StreamPeer: Peer, TransportHandler {
    /// More than that is not held for a client that does not read; nothing is read from it then.
    private static let outputLimit = 1 << 20
    /// So much is sent at once, so that other connections have their turn.
    private static let bytesPerTurn = 1 << 20

    private let socket: StreamSocket
    private let script: StreamScript
    private let recorder: Recorder
    /// The place among the recorder's streams.
    private let record: Int
    private let ended: @NetworkActor (Ending) -> Void
    private var output: [UInt8]
    private var sent = 0
    /// How much of the step's content lies in the output.
    private var contentSent = 0
    private var step = 0
    private var received = 0
    /// What came and no step has expected.
    private var unexpected: [UInt8] = []
    private let keepsUnexpected: Bool
    private var isDeaf = false
    private var clientHasFinished = false
    private var endsStream = false
    private var hasFinished = false
    private var endsAfterOutput: Ending?
    private var isOver = false

    /// - Parameters:
    ///   - head: To be sent first.
    ///   - ended: Called once; closes the socket.
    init(
        _ socket: StreamSocket, sending head: [UInt8] = [], _ script: StreamScript, recorder: Recorder, request: Int?,
        recordLimit: Int, ended: @escaping @NetworkActor (Ending) -> Void
    ) {
        self.socket = socket
        self.script = script
        self.recorder = recorder
        self.ended = ended
        output = head
        keepsUnexpected = script.steps.contains { if case .expect = $0 { true } else { false } }
        record = recorder.streamOpened(ReceivedStream(request: request), limit: recordLimit)
    }

    func start(with bytes: [UInt8]) {
        socket.handler = self
        if !bytes.isEmpty { bytes.withUnsafeBytes { take($0) } }
        goOn()
    }

    func close(_ ending: Ending) {
        guard !isOver else { return }
        isOver = true
        recorder.changeStream(record) { $0.ending = ending }
    }

    private func end(_ ending: Ending) {
        guard !isOver else { return }
        close(ending)
        ended(ending)
    }

    private func goOn() {
        advance()
        flush()
    }

    // MARK: Steps

    private var mayAdvance: Bool {
        !isOver && endsAfterOutput == nil && output.count - sent < Self.outputLimit
    }

    private func advance() {
        while mayAdvance, step < script.steps.count {
            switch script.steps[step] {
            case .bytes(let bytes): send(bytes)
            case .generated(let content):
                guard send(content) else { continue }
            case .receive(let count): guard received >= count else { return waitForMore("\(count) bytes") }
            case .expect(let bytes): guard meets(bytes) else { return }
            case .waitForEnd: guard clientHasFinished else { return }
            case .wait(let gate): guard pass(gate) else { return }
            case .deafness(let gate):
                isDeaf = !gate.arrive { [weak self] in NetworkActor.post { self?.hearAgain() } }
            case .finish: endsStream = true
            case .cut: endsAfterOutput = .cut
            case .reset: endsAfterOutput = .reset
            }
            step += 1
        }
        if step == script.steps.count, clientHasFinished { endsStream = true }
    }

    private func send(_ bytes: Data) {
        if !endsStream { output.append(contentsOf: bytes) }
    }

    /// A portion of the content; true after the last.
    private func send(_ content: GeneratedContent) -> Bool {
        let end = min(content.size, contentSent + Self.outputLimit / 4)
        send(content.bytes(contentSent..<end))
        contentSent = end == content.size ? 0 : end
        return end == content.size
    }

    /// Whether these bytes have come; what differs ends the connection.
    private func meets(_ bytes: [UInt8]) -> Bool {
        let count = min(bytes.count, unexpected.count)
        guard unexpected.prefix(count).elementsEqual(bytes.prefix(count)) else {
            let came = String(decoding: unexpected.prefix(bytes.count), as: UTF8.self)
            let wanted = String(decoding: bytes, as: UTF8.self)
            recorder.changeStream(record) { $0.surprise = "“\(came)” came in place of “\(wanted)”" }
            endsAfterOutput = .reset
            return false
        }
        guard count == bytes.count else {
            waitForMore("“\(String(decoding: bytes, as: UTF8.self))”")
            return false
        }
        unexpected.removeFirst(count)
        return true
    }

    /// What the step waits for has not come. From a client that has ended its stream, or is gone, it never will.
    private func waitForMore(_ wanted: String) {
        guard clientHasFinished else { return }
        recorder.changeStream(record) { $0.surprise = "the end of the stream came in place of \(wanted)" }
        endsAfterOutput = .clientLeft
    }

    private func pass(_ gate: Gate) -> Bool {
        guard !gate.isOpen else { return true }
        let place = step
        return gate.arrive { [weak self] in NetworkActor.post { self?.passed(place) } }
    }

    private func passed(_ place: Int) {
        guard step == place else { return }
        step += 1
        goOn()
    }

    private func hearAgain() {
        isDeaf = false
        updateInterest()
    }

    // MARK: Receiving

    private var takesMore: Bool { !isDeaf && !clientHasFinished && output.count - sent < Self.outputLimit }

    func transportIsReadable(_ transport: any Transport) {
        do {
            guard let bytes = try socket.receive() else { return }
            if bytes.isEmpty {
                clientHasFinished = true
                recorder.changeStream(record) { $0.hasEnded = true }
            } else {
                take(bytes)
            }
            goOn()
        } catch {
            end(.clientLeft)
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        received += bytes.count
        recorder.streamReceived(bytes, on: record)
        if keepsUnexpected { unexpected.append(contentsOf: bytes) }
        if script.echoes, !endsStream { output.append(contentsOf: bytes) }
    }

    // MARK: Sending

    func transportIsWritable(_ transport: any Transport) {
        flush()
    }

    private func flush() {
        var budget = Self.bytesPerTurn
        do {
            while !isOver, budget > 0 {
                if sent == output.count {
                    output.removeAll(keepingCapacity: output.count <= Self.outputLimit)
                    sent = 0
                    advance()
                    if output.isEmpty { break }
                }
                let count = try socket.send(output, sent..<sent + min(budget, output.count - sent))
                guard count > 0 else { break }
                sent += count
                budget -= count
            }
        } catch {
            return end(.clientLeft)
        }
        if sent == output.count, budget > 0 { outputIsSent() }
        updateInterest()
    }

    private func outputIsSent() {
        if let ending = endsAfterOutput { return end(ending) }
        guard endsStream else { return }
        if !hasFinished {
            hasFinished = true
            socket.shutdownWrite()
        }
        if clientHasFinished { end(.complete) }
    }

    private func updateInterest() {
        guard !isOver else { return }
        var interest: Interest = []
        if takesMore, endsAfterOutput == nil { interest.insert(.read) }
        // Writable, it goes on with what its turn left.
        if sent < output.count || !output.isEmpty { interest.insert(.write) }
        if socket.interest != interest { socket.interest = interest }
    }
}
