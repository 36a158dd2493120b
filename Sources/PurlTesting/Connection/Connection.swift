import Foundation
internal import PurlHTTP
internal import PurlIO

/// One client: takes its requests one at a time, in order, and writes the script's answers.
@NetworkActor
final class Connection {
    /// What the connection is doing.
    private enum Phase {
        /// Takes bytes of the next request, or of the body of the one under way.
        case reading
        /// Leaves the body on the socket until its gate opens.
        case holding
        /// A handler works out the reply.
        case preparing
        /// The answer is being written.
        case answering
        /// Everything is sent and the stream ended; what the client still sends is thrown away until it closes too,
        /// so that it gets to read everything before it is told that nobody listens (RFC 9112 §9.6).
        case lingering
        /// It speaks no HTTP any more.
        case upgraded
        case closed
    }

    /// So many bytes of later requests are taken while one is being answered.
    private static let backlogLimit = 256 << 10
    private static let lingering = Duration.seconds(5)
    private static let handlerDepth = 8

    /// The connection's place among all connections to its server, from 1.
    let number: Int

    private let socket: StreamSocket
    private let service: Service
    private let closed: @NetworkActor (Connection) -> Void
    private var phase = Phase.reading
    private var reader = RequestReader()
    private var backlog: [UInt8] = []
    private var isConsuming = false
    private var clientHasFinished = false
    private var wantsToWrite = false
    private var exchange: Exchange?
    private var writer: AnswerWriter?
    private var keepsConnection = false
    private var handler: Task<Void, Never>?
    private var peer: (any Peer)?
    private var lingerTimer: LoopTimer?
    /// Grows with each answer, so that what was meant for an earlier one is told apart.
    private var generation = 0

    /// Takes over a socket. `closed` is called once, when the connection is gone.
    init(_ socket: StreamSocket, service: Service, closed: @escaping @NetworkActor (Connection) -> Void) {
        self.socket = socket
        self.service = service
        self.closed = closed
        number = service.recorder.connectionOpened()
    }

    /// Takes requests, or does what the server's script says, from now on.
    func begin() {
        if let script = service.routes.stream {
            leaveHTTP(to: script, request: nil)
            peer?.start(with: [])
        } else {
            socket.handler = self
            updateInterest()
        }
    }

    /// Closes the connection; the answer under way ends with `ending`.
    func close(_ ending: Ending) {
        guard phase != .closed else { return }
        phase = .closed
        endExchange(ending)
        peer?.close(ending)
        peer = nil
        handler?.cancel()
        lingerTimer?.cancel()
        backlog = []
        if ending == .reset { socket.reset() } else { socket.close() }
        service.recorder.connectionClosed()
        closed(self)
    }

    private func updateInterest() {
        var interest: Interest = []
        switch phase {
        case .reading, .lingering:
            if !clientHasFinished { interest.insert(.read) }
        case .preparing, .answering:
            // Reading on is how a stalled answer finds out that its client has left.
            if !clientHasFinished && backlog.count < Self.backlogLimit { interest.insert(.read) }
        case .holding:
            break
        case .upgraded, .closed:
            return
        }
        if wantsToWrite { interest.insert(.write) }
        if socket.interest != interest { socket.interest = interest }
    }

    private func endExchange(_ ending: Ending) {
        writer?.cancel()
        writer = nil
        wantsToWrite = false
        generation += 1
        guard let exchange else { return }
        self.exchange = nil
        let number = exchange.request.number
        if !exchange.bodyIsComplete {
            service.recorder.bodyEnded(of: number, body: exchange.request.body, isComplete: false)
        }
        service.recorder.end(number, ending)
    }
}

// MARK: - Requests

extension Connection {
    /// Takes what can be taken of `bytes`; returns how much that was.
    private func consume(_ bytes: UnsafeRawBufferPointer) -> Int {
        isConsuming = true
        defer { isConsuming = false }
        var offset = 0
        while phase == .reading {
            do throws(ParseError) {
                guard let event = try reader.next(bytes.bytes, from: &offset) else { break }
                switch event {
                case .head(let head, let framing):
                    begin(head, framing)
                case .body(let range):
                    take(UnsafeRawBufferPointer(rebasing: bytes[range]))
                case .end:
                    exchange?.bodyIsComplete = true
                    exchange?.request.isComplete = true
                    if let request = exchange?.request {
                        service.recorder.bodyEnded(of: request.number, body: request.body, isComplete: true)
                    }
                    respond()
                }
            } catch {
                refuse("\(error)")
            }
        }
        return offset
    }

    private func begin(_ head: RequestHead, _ framing: BodyFraming) {
        // RFC 9112 §3.2: no Host, no answer.
        guard head.version < .http1_1 || head.fields.contains(.host) else {
            refuse("a request without a Host field")
            return
        }
        let request = service.recorder.begin { ReceivedRequest(number: $0, connection: number, head: head) }
        let reply = service.routes.answer(method: request.method, path: request.path)
        exchange = Exchange(head: head, request: request, reply: reply)
        if framing == .none || framing == .length(0) { return }
        if reply.traits.answersBeforeBody {
            respond()
        } else if let gate = reply.traits.bodyGate {
            let generation = generation
            let isOpen = gate.arrive { [weak self] in
                NetworkActor.post { self?.takeBody(after: generation) }
            }
            if isOpen { inviteBody() } else { phase = .holding }
        } else {
            inviteBody()
        }
    }

    private func takeBody(after generation: Int) {
        guard phase == .holding, generation == self.generation else { return }
        phase = .reading
        inviteBody()
        drainBacklog()
        updateInterest()
    }

    /// RFC 9110 §10.1.1: tells a client that waits for it to go on.
    private func inviteBody() {
        guard let exchange, exchange.head.version >= .http1_1, exchange.reply.traits.sendsContinue,
            exchange.head.fields.hasToken("100-continue", in: .expect)
        else { return }
        let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        // Nothing else is on its way, so this fits; if the client is gone, reading will tell.
        _ = try? socket.send(line, line.indices)
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        guard exchange != nil else { return }
        let room = max(0, service.maximumRecordedBody - (exchange?.request.body.count ?? 0))
        if room > 0 { exchange?.request.body.append(contentsOf: bytes.prefix(room)) }
        exchange?.request.bodyBytesReceived += bytes.count
        if let request = exchange?.request {
            service.recorder.bodyProgress(of: request.number, count: request.bodyBytesReceived)
        }
    }

    /// Takes the requests that came while another was being answered.
    private func drainBacklog() {
        guard !isConsuming, phase == .reading else { return }
        if !backlog.isEmpty {
            let held = backlog
            backlog = []
            let taken = held.withUnsafeBytes { consume($0) }
            if phase == .preparing || phase == .answering || phase == .holding {
                backlog = Array(held[taken...]) + backlog
            } else if phase == .upgraded {
                peer?.start(with: Array(held[taken...]))
            }
        }
        if phase == .reading, clientHasFinished { close(.clientLeft) }
    }
}

// MARK: - Answers

extension Connection {
    private func respond() {
        guard let exchange else { return }
        start(exchange.reply, to: exchange, depth: 0)
    }

    private func start(_ reply: ResolvedReply, to exchange: Exchange, depth: Int) {
        switch reply.source {
        case .computed(let work) where depth < Self.handlerDepth:
            phase = .preparing
            let generation = generation
            let request = exchange.request
            handler = Task.detached { [weak self] in
                let result: Result<ResolvedReply, any Error>
                do { result = .success(try await work(request)) } catch { result = .failure(error) }
                await self?.prepared(result, generation: generation, depth: depth + 1)
            }
        case .webSocket(let script):
            upgrade(script, reply.traits, exchange)
        case .stream(let head, let script):
            switchProtocols(sending: [UInt8](head), script, exchange)
        case .computed, .content, .echo, .raw:
            write(Answer(reply, to: exchange))
        }
    }

    /// Answers a WebSocket handshake, and leaves the connection to the script if it is one.
    private func upgrade(_ script: WebSocketScript, _ traits: Traits, _ exchange: Exchange) {
        do {
            let answer = try WebSocketHandshake.answer(
                exchange.head, protocols: script.subprotocols, compression: script.compression?.wishes)
            var head = answer.head
            for field in traits.fields { head.fields.append(FieldName(field.name), field.value) }
            for (name, value) in traits.replacements { head.fields[name] = value }
            var bytes: [UInt8] = []
            try head.encode(into: &bytes)
            endExchange(.complete)
            let wasWaiting = phase == .preparing
            phase = .upgraded
            peer = WebSocketPeer(
                socket, answering: bytes, answer.agreement, script, recorder: service.recorder,
                request: exchange.request.number, recordLimit: service.maximumRecordedBody,
                ended: { [weak self] ending in self?.close(ending) })
            startPeer(afterWaiting: wasWaiting)
        } catch {
            write(Answer(failure: 400, "\(error)", to: exchange))
        }
    }

    /// Leaves the connection to a script after a head.
    private func switchProtocols(sending head: [UInt8], _ script: StreamScript, _ exchange: Exchange) {
        endExchange(.complete)
        let wasWaiting = phase == .preparing
        leaveHTTP(to: script, sending: head, request: exchange.request.number)
        startPeer(afterWaiting: wasWaiting)
    }

    private func leaveHTTP(to script: StreamScript, sending head: [UInt8] = [], request: Int?) {
        phase = .upgraded
        peer = StreamPeer(
            socket, sending: head, script, recorder: service.recorder, request: request,
            recordLimit: service.maximumRecordedBody, ended: { [weak self] ending in self?.close(ending) })
    }

    /// What is being consumed is handed over at its end.
    private func startPeer(afterWaiting wasWaiting: Bool) {
        guard wasWaiting || !isConsuming else { return }
        let held = backlog
        backlog = []
        peer?.start(with: held)
    }

    private func prepared(_ result: Result<ResolvedReply, any Error>, generation: Int, depth: Int) {
        guard phase == .preparing, generation == self.generation, let exchange else { return }
        switch result {
        case .success(let reply): start(reply, to: exchange, depth: depth)
        case .failure(let error): write(Answer(failure: 500, "The handler failed: \(error)", to: exchange))
        }
        updateInterest()
    }

    /// Answers what is not HTTP, and closes.
    private func refuse(_ reason: String) {
        service.recorder.refused(reason)
        write(Answer(failure: 400, reason, to: exchange))
    }

    private func write(_ answer: Answer) {
        phase = .answering
        keepsConnection = answer.keepsConnection
        let number = exchange?.request.number
        let recorder = service.recorder
        let generation = generation
        writer = AnswerWriter(
            answer, to: socket,
            bodyBytesSent: { count in if let number { recorder.sent(count, to: number) } },
            resume: { [weak self] in self?.resume(generation) })
        advance()
    }

    private func resume(_ generation: Int) {
        guard phase == .answering, generation == self.generation else { return }
        advance()
        updateInterest()
    }

    private func advance() {
        guard let writer else { return }
        switch writer.advance() {
        case .blocked:
            wantsToWrite = true
        case .paused:
            wantsToWrite = false
            if writer.isStalled && clientHasFinished { close(.clientLeft) }
        case .ended(.complete):
            let goesOn = keepsConnection
            endExchange(.complete)
            if goesOn {
                phase = .reading
                drainBacklog()
            } else {
                linger()
            }
        case .ended(.cut):
            endExchange(.cut)
            linger()
        case .ended(let ending):
            close(ending)
        }
    }

    private func linger() {
        guard !clientHasFinished else { return close(.complete) }
        phase = .lingering
        backlog = []
        socket.shutdownWrite()
        lingerTimer = EventLoop.shared.schedule(after: Self.lingering) { [weak self] in self?.close(.complete) }
    }
}

// MARK: - The socket

extension Connection: TransportHandler {
    func transportIsReadable(_ transport: any Transport) {
        do {
            guard let bytes = try socket.receive() else { return }
            if bytes.isEmpty { clientFinished() } else { received(bytes) }
            updateInterest()
        } catch {
            close(.clientLeft)
        }
    }

    func transportIsWritable(_ transport: any Transport) {
        guard phase == .answering else { return }
        advance()
        updateInterest()
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        switch phase {
        case .reading:
            let taken = consume(bytes)
            switch phase {
            case .holding, .preparing, .answering: backlog.append(contentsOf: bytes[taken...])
            case .upgraded: peer?.start(with: Array(bytes[taken...]))
            case .reading, .lingering, .closed: break
            }
        case .preparing, .answering, .holding:
            backlog.append(contentsOf: bytes)
        case .lingering, .upgraded, .closed:
            break
        }
    }

    private func clientFinished() {
        clientHasFinished = true
        switch phase {
        case .reading, .holding, .preparing, .lingering:
            close(.clientLeft)
        case .answering:
            // A client may end its side and still read, but nothing tells one that has left from one that waits for
            // what the script does not send.
            if writer?.isStalled ?? false { close(.clientLeft) }
        case .upgraded, .closed:
            break
        }
    }
}
