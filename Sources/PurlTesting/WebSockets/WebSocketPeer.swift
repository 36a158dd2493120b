import Foundation
internal import PurlHTTP
internal import PurlIO

/// The server's side of a WebSocket connection: does what the script says.
@NetworkActor
final class WebSocketPeer: Peer, TransportHandler {
    /// More than that is not held for a client that does not read; nothing is read from it then.
    private static let outputLimit = 1 << 20
    /// A portion that is handed to the socket at once, so that other connections have their turn.
    private static let bytesPerTurn = 1 << 20

    private let socket: StreamSocket
    private let script: WebSocketScript
    private let recorder: Recorder
    /// The place among the recorder's connections; nil: nothing is kept.
    private let record: Int
    private let ended: @NetworkActor (Ending) -> Void
    private var reader: WebSocketReader
    private var writer: WebSocketWriter
    private var output: [UInt8]
    private var sent = 0
    private var stash: [UInt8] = []
    private var isReceiving = false
    private var step = 0
    private var received = 0
    private var isDeaf = false
    private var hasSentClose = false
    private var hasReceivedClose = false
    private var endsAfterOutput: Ending?
    private var isOver = false

    /// Takes over a socket once its handshake has been judged.
    ///
    /// - Parameters:
    ///   - head: The handshake's answer, to be sent first.
    ///   - ended: Called once; closes the socket.
    init(
        _ socket: StreamSocket, answering head: [UInt8], _ agreement: WebSocketHandshake.Agreement,
        _ script: WebSocketScript, recorder: Recorder, request: Int, recordLimit: Int,
        ended: @escaping @NetworkActor (Ending) -> Void
    ) {
        self.socket = socket
        self.script = script
        self.recorder = recorder
        self.ended = ended
        output = head
        reader = WebSocketReader(
            role: .server, maximumMessageSize: script.maximumMessageSize, compression: agreement.compression)
        writer = WebSocketWriter(role: .server, compression: agreement.compression)
        record = recorder.webSocketOpened(
            ReceivedWebSocket(
                request: request, subprotocol: agreement.subprotocol, isCompressed: agreement.compression != nil),
            limit: recordLimit)
    }

    func start(with bytes: [UInt8]) {
        socket.handler = self
        stash = bytes
        advance()
        receive()
        flush()
    }

    func close(_ ending: Ending) {
        guard !isOver else { return }
        isOver = true
        recorder.changeWebSocket(record) { $0.ending = ending }
    }

    private func end(_ ending: Ending) {
        guard !isOver else { return }
        close(ending)
        ended(ending)
    }

    // MARK: Steps

    private func advance() {
        while !isOver, endsAfterOutput == nil, step < script.steps.count, output.count - sent < Self.outputLimit {
            switch script.steps[step] {
            case .message(let message): send(message)
            case .control(let opcode, let content): send(opcode, content)
            case .bytes(let bytes): output += bytes
            case .receive(let count): guard received >= count else { return }
            case .wait(let gate):
                guard pass(gate) else { return }
            case .deafness(let gate):
                isDeaf = !gate.arrive { [weak self] in NetworkActor.post { self?.hearAgain() } }
            case .cut: endsAfterOutput = .cut
            case .reset: endsAfterOutput = .reset
            }
            step += 1
        }
    }

    private func pass(_ gate: Gate) -> Bool {
        guard !gate.isOpen else { return true }
        let place = step
        return gate.arrive { [weak self] in NetworkActor.post { self?.passed(place) } }
    }

    private func passed(_ place: Int) {
        guard step == place else { return }
        step += 1
        advance()
        flush()
    }

    private func hearAgain() {
        isDeaf = false
        receive()
        flush()
    }

    // MARK: Receiving

    func transportIsReadable(_ transport: any Transport) {
        do {
            guard let bytes = try socket.receive() else { return }
            guard !bytes.isEmpty else { return end(hasSentClose && hasReceivedClose ? .complete : .clientLeft) }
            stash.append(contentsOf: bytes)
            receive()
            flush()
        } catch {
            end(.clientLeft)
        }
    }

    private var takesMore: Bool { !isDeaf && !isOver && output.count - sent < Self.outputLimit }

    /// Takes what has arrived as long as the answers find room.
    private func receive() {
        guard !isReceiving, !stash.isEmpty, takesMore else { return }
        isReceiving = true
        defer { isReceiving = false }
        let bytes = stash
        stash = []
        var offset = 0
        do {
            while takesMore, let event = try reader.next(bytes.span.bytes, from: &offset) { take(event) }
        } catch {
            recorder.changeWebSocket(record) { $0.violation = "\(error)" }
            send(.close, WebSocketClose(code: error.closeCode).payload)
            endsAfterOutput = .complete
            return
        }
        if offset < bytes.count { stash = Array(bytes[offset...]) + stash }
    }

    private func take(_ event: WebSocketReader.Event) {
        switch event {
        case .message(let message):
            received += 1
            recorder.webSocketReceived(message, on: record)
            if script.echoes, !hasSentClose { send(message) }
            advance()
        case .ping(let content):
            recorder.changeWebSocket(record) { $0.pings.append(Data(content)) }
            if script.answersPings, !hasSentClose { send(.pong, content) }
        case .pong(let content):
            recorder.changeWebSocket(record) { $0.pongs.append(Data(content)) }
        case .close(let close):
            hasReceivedClose = true
            recorder.changeWebSocket(record) { record in
                record.hasReceivedClose = true
                record.closeCode = close.code.map { Int($0) }
                record.closeReason = String(decoding: close.reason, as: UTF8.self)
            }
            guard script.answersClose || hasSentClose else { return }
            if !hasSentClose { send(.close, WebSocketClose(code: close.code, reason: close.reason).payload) }
            endsAfterOutput = .complete
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
        while !writer.write(payload.span.bytes, isText: isText, from: &position, makeKey: { 0 }, into: &output) {}
    }

    private func send(_ payload: [UInt8], isText: Bool, inFragmentsOf size: Int) {
        var position = 0
        repeat {
            let end = min(payload.count, position + size)
            WebSocketFrameHeader(
                position > 0 ? .continuation : isText ? .text : .binary, length: Int64(end - position),
                isFinal: end == payload.count
            ).encode(into: &output)
            output += payload[position..<end]
            position = end
        } while position < payload.count
    }

    private func send(_ opcode: WebSocketOpcode, _ content: [UInt8]) {
        if opcode == .close { hasSentClose = true }
        writer.write(opcode, content, makeKey: { 0 }, into: &output)
    }

    func transportIsWritable(_ transport: any Transport) {
        flush()
    }

    private func flush() {
        guard !isOver else { return }
        var budget = Self.bytesPerTurn
        do {
            while sent < output.count, budget > 0 {
                let count = try socket.send(output, sent..<sent + min(budget, output.count - sent))
                guard count > 0 else { break }
                sent += count
                budget -= count
            }
        } catch {
            return end(.clientLeft)
        }
        if sent == output.count {
            output.removeAll(keepingCapacity: output.count <= Self.outputLimit)
            sent = 0
            if let ending = endsAfterOutput { return end(ending) }
            advance()
            receive()
        }
        updateInterest()
    }

    private func updateInterest() {
        guard !isOver else { return }
        var interest: Interest = []
        if takesMore, endsAfterOutput == nil { interest.insert(.read) }
        if sent < output.count || endsAfterOutput != nil { interest.insert(.write) }
        if socket.interest != interest { socket.interest = interest }
    }
}
