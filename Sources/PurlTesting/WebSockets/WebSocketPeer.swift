import Foundation
internal import PurlHTTP
internal import PurlIO

/// The server's side of a WebSocket connection: runs a ``WebSocketScript``.
@NetworkActor
final class WebSocketPeer: Peer, TransportHandler {
    private enum Phase {
        case open
        /// The connection closes once the output is sent.
        case closing(LoopbackServer.Ending)
        case closed
    }

    private let transport: any LoopTransport
    private let script: WebSocketScript
    private let recorder: Recorder
    /// The connection's place among the recorder's WebSocket connections.
    private let recordIndex: Int
    private let ended: @NetworkActor (LoopbackServer.Ending) -> Void
    private var phase = Phase.open
    private var reader: WebSocketReader
    private var writer: WebSocketWriter
    private var output: OutputBuffer
    /// Bytes that have arrived and not been parsed yet.
    private var input: [UInt8] = []
    private var isParsing = false
    private var step = 0
    private var receivedCount = 0
    private var isReadingPaused = false
    private var hasSentClose = false
    private var hasReceivedClose = false

    /// Prepares a script for a connection whose handshake is accepted; ``start(with:)`` runs it.
    ///
    /// - Parameters:
    ///   - transport: The client's connection.
    ///   - head: The response to the handshake, to be sent first.
    ///   - agreement: The subprotocol and the compression that the handshake settled.
    ///   - script: What to do.
    ///   - recorder: Where to record what the client sends.
    ///   - request: The number of the handshake's request.
    ///   - recordLimit: How many bytes of messages are kept.
    ///   - ended: Called once, to close the connection.
    init(
        _ transport: any LoopTransport, sending head: [UInt8], _ agreement: WebSocketHandshake.Agreement,
        _ script: WebSocketScript, recorder: Recorder, request: Int, recordLimit: Int,
        ended: @escaping @NetworkActor (LoopbackServer.Ending) -> Void
    ) {
        self.transport = transport
        self.script = script
        self.recorder = recorder
        self.ended = ended
        output = OutputBuffer(head)
        reader = WebSocketReader(
            role: .server, maximumMessageSize: script.maximumMessageSize, compression: agreement.compression)
        writer = WebSocketWriter(role: .server, compression: agreement.compression)
        recordIndex = recorder.addWebSocket(
            ReceivedWebSocket(
                request: request, subprotocol: agreement.subprotocol, isCompressed: agreement.compression != nil),
            limit: recordLimit)
    }

    func start(with bytes: [UInt8]) {
        transport.handler = self
        input = bytes
        advance()
        parse()
        flush()
    }

    func close(_ ending: LoopbackServer.Ending) {
        if case .closed = phase { return }
        phase = .closed
        recorder.updateWebSocket(recordIndex) { $0.ending = ending }
    }

    private func end(_ ending: LoopbackServer.Ending) {
        if case .closed = phase { return }
        close(ending)
        ended(ending)
    }

    // MARK: Steps

    private func advance() {
        while case .open = phase, step < script.steps.count, !output.isFull {
            switch script.steps[step] {
            case .message(let message): send(message)
            case .control(let opcode, let content): send(opcode, content)
            case .bytes(let bytes): output.bytes += bytes
            case .receive(let count): guard receivedCount >= count else { return }
            case .wait(let gate): guard pass(gate) else { return }
            case .pauseReading(let gate):
                isReadingPaused = !gate.arrive { [weak self] in NetworkActor.post { self?.resumeReading() } }
            case .cut: phase = .closing(.cut)
            case .reset: phase = .closing(.reset)
            }
            step += 1
        }
    }

    private func pass(_ gate: ServerGate) -> Bool {
        guard !gate.isOpen else { return true }
        return gate.arrive { [weak self, place = step] in NetworkActor.post { self?.resume(after: place) } }
    }

    private func resume(after passed: Int) {
        guard step == passed else { return }
        step += 1
        advance()
        flush()
    }

    private func resumeReading() {
        isReadingPaused = false
        parse()
        flush()
    }

    // MARK: Receiving

    func transportIsReadable(_ transport: any LoopTransport) {
        do {
            guard let bytes = try transport.receive() else { return }
            guard !bytes.isEmpty else { return end(hasSentClose && hasReceivedClose ? .complete : .clientLeft) }
            input.append(contentsOf: bytes)
            parse()
            flush()
        } catch {
            end(.clientLeft)
        }
    }

    private var mayParse: Bool {
        if case .closed = phase { return false }
        return !isReadingPaused && !output.isFull
    }

    /// Parses what has arrived, as long as there is room for the replies.
    private func parse() {
        guard !isParsing, !input.isEmpty, mayParse else { return }
        isParsing = true
        defer { isParsing = false }
        let bytes = input
        input = []
        var offset = 0
        do {
            while mayParse, let event = try reader.next(bytes.span.bytes, from: &offset) { receive(event) }
        } catch {
            recorder.updateWebSocket(recordIndex) { $0.violation = "\(error)" }
            send(.close, WebSocketClose(code: error.closeCode).payload)
            phase = .closing(.complete)
            return
        }
        if offset < bytes.count { input = Array(bytes[offset...]) + input }
    }

    private func receive(_ event: WebSocketReader.Event) {
        switch event {
        case .message(let message):
            receivedCount += 1
            recorder.addMessage(message, toWebSocket: recordIndex)
            if script.echoes, !hasSentClose { send(message) }
            advance()
        case .ping(let content):
            recorder.updateWebSocket(recordIndex) { $0.pings.append(Data(content)) }
            if script.answersPings, !hasSentClose { send(.pong, content) }
        case .pong(let content):
            recorder.updateWebSocket(recordIndex) { $0.pongs.append(Data(content)) }
        case .close(let close):
            hasReceivedClose = true
            recorder.updateWebSocket(recordIndex) { webSocket in
                webSocket.hasReceivedClose = true
                webSocket.closeCode = close.code.map { Int($0) }
                webSocket.closeReason = String(decoding: close.reason, as: UTF8.self)
            }
            guard script.answersClose || hasSentClose else { return }
            if !hasSentClose { send(.close, WebSocketClose(code: close.code, reason: close.reason).payload) }
            phase = .closing(.complete)
        }
    }

    // MARK: Sending

    private func send(_ message: WebSocketMessage) {
        let (payload, isText) =
            switch message {
            case .text(let bytes): (bytes, true)
            case .binary(let bytes): (bytes, false)
            }
        if let size = script.fragmentSize { return send(payload, isText: isText, inFragmentsOf: size) }
        var position = 0
        while !writer.write(payload.span.bytes, isText: isText, from: &position, makeKey: { 0 }, into: &output.bytes) {}
    }

    private func send(_ payload: [UInt8], isText: Bool, inFragmentsOf size: Int) {
        var position = 0
        repeat {
            let end = min(payload.count, position + size)
            WebSocketFrameHeader(
                position > 0 ? .continuation : isText ? .text : .binary, length: Int64(end - position),
                isFinal: end == payload.count
            ).encode(into: &output.bytes)
            output.bytes += payload[position..<end]
            position = end
        } while position < payload.count
    }

    private func send(_ opcode: WebSocketOpcode, _ content: [UInt8]) {
        if opcode == .close { hasSentClose = true }
        writer.write(opcode, content, makeKey: { 0 }, into: &output.bytes)
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        flush()
    }

    private func flush() {
        if case .closed = phase { return }
        var budget = OutputBuffer.bytesPerTurn
        do {
            while !output.isSent, budget > 0 {
                let count = try output.send(to: transport, atMost: budget)
                guard count > 0 else { break }
                budget -= count
            }
        } catch {
            return end(.clientLeft)
        }
        if output.isSent {
            output.removeAll()
            if case .closing(let ending) = phase { return end(ending) }
            advance()
            parse()
        }
        updateInterest()
    }

    private func updateInterest() {
        var interest: TransportInterest = []
        switch phase {
        case .open:
            if mayParse { interest.insert(.read) }
            if !output.isSent { interest.insert(.write) }
        case .closing:
            interest.insert(.write)
        case .closed:
            return
        }
        if transport.interest != interest { transport.interest = interest }
    }
}
