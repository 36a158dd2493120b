import Foundation
internal import PurlIO

/// The server's side of a connection without HTTP: runs a ``StreamScript``.
@NetworkActor
final class StreamPeer: Peer, TransportHandler {
    /// How far the server's own stream is.
    private enum Phase {
        case open
        /// The stream ends once the output is sent.
        case finishing
        /// The stream has ended; the client's may still be open.
        case finished
        /// The connection closes once the output is sent.
        case closing(LoopbackServer.Ending)
        case closed
    }

    private let transport: any LoopTransport
    private let script: StreamScript
    private let recorder: Recorder
    /// The connection's place among the recorder's streams.
    private let recordIndex: Int
    private let ended: @NetworkActor (LoopbackServer.Ending) -> Void
    private var phase = Phase.open
    private var output: OutputBuffer
    private var step = 0
    /// How many bytes of the current step's content have been put into the output.
    private var producedContent = 0
    private var receivedCount = 0
    /// Received bytes that no step has expected yet.
    private var unexpected: [UInt8] = []
    private let keepsUnexpected: Bool
    private var isReadingPaused = false
    private var clientHasFinished = false

    /// Prepares a script; ``start(with:)`` runs it.
    ///
    /// - Parameters:
    ///   - transport: The client's connection.
    ///   - head: Bytes to send before the script's.
    ///   - script: What to do.
    ///   - recorder: Where to record what the client sends.
    ///   - request: The number of the request that the connection began with.
    ///   - recordLimit: How many received bytes are kept.
    ///   - ended: Called once, to close the connection.
    init(
        _ transport: any LoopTransport, sending head: [UInt8] = [], _ script: StreamScript, recorder: Recorder,
        request: Int?,
        recordLimit: Int, ended: @escaping @NetworkActor (LoopbackServer.Ending) -> Void
    ) {
        self.transport = transport
        self.script = script
        self.recorder = recorder
        self.ended = ended
        output = OutputBuffer(head)
        keepsUnexpected = script.steps.contains { if case .expect = $0 { true } else { false } }
        recordIndex = recorder.addStream(ReceivedStream(request: request), limit: recordLimit)
    }

    func start(with bytes: [UInt8]) {
        transport.handler = self
        if !bytes.isEmpty { bytes.withUnsafeBytes { receive($0) } }
        advanceAndFlush()
    }

    func close(_ ending: LoopbackServer.Ending) {
        if case .closed = phase { return }
        phase = .closed
        recorder.updateStream(recordIndex) { $0.ending = ending }
    }

    private func end(_ ending: LoopbackServer.Ending) {
        if case .closed = phase { return }
        close(ending)
        ended(ending)
    }

    private func advanceAndFlush() {
        advance()
        flush()
    }

    // MARK: Steps

    private var mayAdvance: Bool {
        switch phase {
        case .open, .finishing, .finished: !output.isFull
        case .closing, .closed: false
        }
    }

    private func advance() {
        while mayAdvance, step < script.steps.count {
            switch script.steps[step] {
            case .bytes(let bytes): send(bytes)
            case .generated(let content):
                guard sendPortion(of: content) else { continue }
            case .receive(let count):
                guard receivedCount >= count else { return failIfClientFinished(missing: "\(count) bytes") }
            case .expect(let bytes): guard takeExpected(bytes) else { return }
            case .waitForEnd: guard clientHasFinished else { return }
            case .wait(let gate): guard pass(gate) else { return }
            case .pauseReading(let gate):
                isReadingPaused = !gate.arrive { [weak self] in NetworkActor.post { self?.resumeReading() } }
            case .finish: finish()
            case .cut: phase = .closing(.cut)
            case .reset: phase = .closing(.reset)
            }
            step += 1
        }
        if step == script.steps.count, clientHasFinished { finish() }
    }

    private func finish() {
        if case .open = phase { phase = .finishing }
    }

    private func send(_ bytes: Data) {
        if case .open = phase { output.bytes.append(contentsOf: bytes) }
    }

    /// Puts the content's next portion into the output.
    ///
    /// - Returns: Whether it was the last.
    private func sendPortion(of content: GeneratedContent) -> Bool {
        let end = min(content.size, producedContent + OutputBuffer.limit / 4)
        send(content.bytes(producedContent..<end))
        producedContent = end == content.size ? 0 : end
        return end == content.size
    }

    /// Whether these bytes have arrived. Other ones reset the connection.
    private func takeExpected(_ bytes: [UInt8]) -> Bool {
        let count = min(bytes.count, unexpected.count)
        guard unexpected.prefix(count).elementsEqual(bytes.prefix(count)) else {
            let came = String(decoding: unexpected.prefix(bytes.count), as: UTF8.self)
            let wanted = String(decoding: bytes, as: UTF8.self)
            recorder.updateStream(recordIndex) { $0.surprise = "“\(came)” came in place of “\(wanted)”" }
            phase = .closing(.reset)
            return false
        }
        guard count == bytes.count else {
            failIfClientFinished(missing: "“\(String(decoding: bytes, as: UTF8.self))”")
            return false
        }
        unexpected.removeFirst(count)
        return true
    }

    /// Closes the connection when the client, having ended its stream, cannot send what a step waits for.
    private func failIfClientFinished(missing wanted: String) {
        guard clientHasFinished else { return }
        recorder.updateStream(recordIndex) { $0.surprise = "the end of the stream came in place of \(wanted)" }
        phase = .closing(.clientLeft)
    }

    private func pass(_ gate: ServerGate) -> Bool {
        guard !gate.isOpen else { return true }
        return gate.arrive { [weak self, place = step] in NetworkActor.post { self?.resume(after: place) } }
    }

    private func resume(after passed: Int) {
        guard step == passed else { return }
        step += 1
        advanceAndFlush()
    }

    private func resumeReading() {
        isReadingPaused = false
        updateInterest()
    }

    // MARK: Receiving

    func transportIsReadable(_ transport: any LoopTransport) {
        do {
            guard let bytes = try transport.receive() else { return }
            if bytes.isEmpty {
                clientHasFinished = true
                recorder.updateStream(recordIndex) { $0.hasEnded = true }
            } else {
                receive(bytes)
            }
            advanceAndFlush()
        } catch {
            end(.clientLeft)
        }
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        receivedCount += bytes.count
        recorder.addBytes(bytes, toStream: recordIndex)
        if keepsUnexpected { unexpected.append(contentsOf: bytes) }
        if script.echoes, case .open = phase { output.bytes.append(contentsOf: bytes) }
    }

    // MARK: Sending

    func transportIsWritable(_ transport: any LoopTransport) {
        flush()
    }

    private func flush() {
        if case .closed = phase { return }
        var budget = OutputBuffer.bytesPerTurn
        do {
            while budget > 0 {
                if output.isSent {
                    output.removeAll()
                    advance()
                    if output.bytes.isEmpty { break }
                }
                let count = try output.send(to: transport, atMost: budget)
                guard count > 0 else { break }
                budget -= count
            }
        } catch {
            return end(.clientLeft)
        }
        if output.isSent, budget > 0 { endIfNeeded() }
        updateInterest()
    }

    /// Ends the stream or the connection, as the script wants it, now that the output is sent.
    private func endIfNeeded() {
        switch phase {
        case .open, .closed:
            return
        case .closing(let ending):
            return end(ending)
        case .finishing:
            phase = .finished
            transport.shutdownWrite()
        case .finished:
            break
        }
        if clientHasFinished { end(.complete) }
    }

    private func updateInterest() {
        var interest: TransportInterest = []
        switch phase {
        case .open, .finishing, .finished:
            if !isReadingPaused, !clientHasFinished, !output.isFull { interest.insert(.read) }
        case .closing:
            break
        case .closed:
            return
        }
        // Also when the turn was used up exactly at the output's end: then the script has more.
        if !output.bytes.isEmpty { interest.insert(.write) }
        if transport.interest != interest { transport.interest = interest }
    }
}
