import Foundation
internal import PurlHTTP
internal import PurlIO

/// One connection of a client: reads its requests in order, one at a time, and writes what the routes reply.
@NetworkActor
final class Connection {
    /// What the connection is doing.
    private enum Phase {
        /// Reads the next request's head, or the body of the pending request.
        case reading
        /// Leaves the pending request's body on the socket until its gate opens.
        case holdingBody
        /// A handler computes the reply.
        case preparing(Task<Void, Never>)
        /// A response is being written.
        case responding(ResponseWriter)
        /// The response is sent and the stream ended. What the client still sends is discarded until it closes, too: a
        /// socket that is closed with unread bytes resets the connection, and the client would lose the response's end
        /// (RFC 9112 §9.6).
        case lingering(LoopTimer)
        /// The connection speaks another protocol.
        case upgraded(any Peer)
        case closed
    }

    /// How many bytes of later requests are read while a response is being written.
    private static let backlogLimit = 256 << 10
    private static let lingering = Duration.seconds(5)
    /// How many handlers may return a handler in turn.
    private static let handlerDepth = 8

    /// The connection's place among all connections to its server, from 1.
    let number: Int

    private let transport: any LoopTransport
    private let context: ServerContext
    private let closed: @NetworkActor (Connection) -> Void
    private var phase = Phase.reading
    private var reader = RequestReader()
    private var pending: PendingRequest?
    /// Bytes that arrived before the connection could read them as a request.
    private var backlog: [UInt8] = []
    private var isParsing = false
    private var clientHasFinished = false

    /// Takes over a transport.
    ///
    /// - Parameters:
    ///   - transport: The client's connection.
    ///   - context: What the connection shares with the server's others.
    ///   - closed: Called once, when the connection has been closed.
    init(_ transport: any LoopTransport, context: ServerContext, closed: @escaping @NetworkActor (Connection) -> Void) {
        self.transport = transport
        self.context = context
        self.closed = closed
        number = context.recorder.addConnection()
        (transport as? ServerTLSTransport)?.observeHandshake(of: number) {
            [number, recorder = context.recorder] result in
            recorder.addHandshake(of: number, result)
        }
    }

    /// Starts reading requests, or runs the script that the server has for connections without HTTP.
    func start() {
        if let script = context.routes.stream {
            leaveHTTP(to: streamPeer(script, request: nil))
        } else {
            transport.handler = self
            updateInterest()
        }
    }

    /// Closes the connection; the response being written ends with `ending`.
    func close(_ ending: LoopbackServer.Ending) {
        switch phase {
        case .reading, .holdingBody: break
        case .preparing(let handler): handler.cancel()
        case .responding(let writer): writer.cancel()
        case .lingering(let timer): timer.cancel()
        case .upgraded(let peer): peer.close(ending)
        case .closed: return
        }
        phase = .closed
        finishRequest(ending)
        backlog = []
        if ending == .reset { transport.reset() } else { transport.close() }
        context.recorder.removeConnection()
        closed(self)
    }

    private func updateInterest() {
        var interest: TransportInterest = []
        switch phase {
        case .reading, .lingering:
            if !clientHasFinished { interest.insert(.read) }
        case .preparing, .responding:
            // Only reading shows that the client of a stalled response has left.
            if !clientHasFinished && backlog.count < Self.backlogLimit { interest.insert(.read) }
        case .holdingBody:
            break
        case .upgraded, .closed:
            return
        }
        if case .responding(let writer) = phase, writer.progress == .blocked { interest.insert(.write) }
        if transport.interest != interest { transport.interest = interest }
    }

    private func finishRequest(_ ending: LoopbackServer.Ending) {
        guard let request = pending?.received else { return }
        pending?.upload?.abandon()
        pending = nil
        if !request.isComplete {
            context.recorder.finishBody(of: request.number, body: request.body, isComplete: false)
        }
        context.recorder.finishRequest(request.number, ending)
    }

    // MARK: Requests

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        switch phase {
        case .reading:
            let rest = bytes[parse(bytes)...]
            switch phase {
            case .holdingBody, .preparing, .responding: backlog.append(contentsOf: rest)
            case .upgraded(let peer): peer.start(with: Array(rest))
            case .reading, .lingering, .closed: break
            }
        case .holdingBody, .preparing, .responding:
            backlog.append(contentsOf: bytes)
        case .lingering, .upgraded, .closed:
            break
        }
    }

    /// Parses requests as long as the connection is reading.
    ///
    /// - Returns: How many bytes were used.
    private func parse(_ bytes: UnsafeRawBufferPointer) -> Int {
        isParsing = true
        defer { isParsing = false }
        var offset = 0
        while case .reading = phase {
            do throws(ParseError) {
                guard let event = try reader.next(bytes.bytes, from: &offset) else { break }
                switch event {
                case .head(let head, let framing):
                    begin(head, framing)
                case .body(let range):
                    receiveBody(UnsafeRawBufferPointer(rebasing: bytes[range]))
                case .end:
                    pending?.received.isComplete = true
                    if let request = pending?.received {
                        context.recorder.finishBody(of: request.number, body: request.body, isComplete: true)
                    }
                    if let upload = pending?.upload { upload.end() } else { respond() }
                }
            } catch {
                refuse("\(error)")
            }
        }
        return offset
    }

    private func begin(_ head: RequestHead, _ framing: BodyFraming) {
        // RFC 9112 §3.2: a request without Host gets a 400.
        guard head.version < .http1_1 || head.fields.contains(.host) else {
            refuse("a request without a Host field")
            return
        }
        let request = context.recorder.addRequest { ReceivedRequest(number: $0, connection: number, head: head) }
        let reply = context.routes.nextReply(to: request)
        pending = PendingRequest(head: head, reply: reply, received: request)
        if case .upload(let target) = reply.source {
            pending?.upload = UploadExchange(request, head, framing, to: target, on: self)
        }
        if framing == .none || framing == .length(0) { return }
        if let upload = pending?.upload {
            upload.begin()
        } else if reply.traits.respondsBeforeBody {
            respond()
        } else if let gate = reply.traits.bodyGate {
            let isOpen = gate.arrive { [weak self, number = request.number] in
                NetworkActor.post { self?.readBody(of: number) }
            }
            if isOpen { sendContinue() } else { phase = .holdingBody }
        } else {
            sendContinue()
        }
    }

    /// Reads the body of a request whose gate has opened.
    private func readBody(of request: Int) {
        guard case .holdingBody = phase, pending?.received.number == request else { return }
        phase = .reading
        sendContinue()
        parseBacklog()
        updateInterest()
    }

    /// Sends `100 Continue` to a client that expects it (RFC 9110 §10.1.1).
    func sendContinue() {
        guard let pending, pending.head.version >= .http1_1, pending.reply.traits.sendsContinue,
            pending.head.fields.hasToken("100-continue", in: .expect)
        else { return }
        let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        // The transport's buffer is empty, so this fits. A client that has left is noticed by reading.
        _ = try? transport.send(line, line.indices)
    }

    private func receiveBody(_ bytes: UnsafeRawBufferPointer) {
        pending?.append(bytes, keepingAtMost: context.maximumRecordedBody)
        if let request = pending?.received {
            context.recorder.setBodyBytesReceived(request.bodyBytesReceived, of: request.number)
        }
        pending?.upload?.receive(bytes)
    }

    /// Parses what arrived while a response was being written, or the body held.
    private func parseBacklog() {
        guard !isParsing, case .reading = phase else { return }
        // Also without bytes: the end of a body may be all that is left.
        let held = backlog
        backlog = []
        held.withUnsafeBytes { receive($0) }
        if case .reading = phase, clientHasFinished { close(.clientLeft) }
    }

    // MARK: Responses

    private func respond() {
        guard let pending else { return }
        send(pending.reply, to: pending, depth: 0)
    }

    private func send(_ reply: ResolvedReply, to request: PendingRequest, depth: Int) {
        switch reply.source {
        case .computed(let handler) where depth < Self.handlerDepth:
            let received = request.received
            phase = .preparing(
                Task.detached { [weak self] in
                    let result: Result<ResolvedReply, any Error>
                    do { result = .success(try await handler(received)) } catch { result = .failure(error) }
                    await self?.finishHandler(of: received.number, result, depth: depth + 1)
                })
        case .webSocket(let script):
            upgrade(to: script, reply.traits, request)
        case .stream(let head, let script):
            finishRequest(.complete)
            leaveHTTP(to: streamPeer(script, sending: [UInt8](head), request: request.received.number))
        case .computed, .content, .echo, .raw, .upload:
            write(Response(reply, to: request))
        }
    }

    /// Sends what a handler has returned for the request of this number, if that is still pending.
    private func finishHandler(of number: Int, _ result: Result<ResolvedReply, any Error>, depth: Int) {
        guard case .preparing = phase, let pending, pending.received.number == number else { return }
        switch result {
        case .success(let reply):
            context.routes.setReply(reply, to: number)
            send(reply, to: pending, depth: depth)
        case .failure(let error): write(Response(failure: 500, "The handler failed: \(error)", to: pending))
        }
        updateInterest()
    }

    /// Sends a 400 to a client that sent something else than HTTP, then closes the connection.
    private func refuse(_ reason: String) {
        context.recorder.addBadRequest(reason)
        write(Response(failure: 400, reason, to: pending))
    }

    private func write(_ response: Response) {
        let number = pending?.received.number
        let recorder = context.recorder
        if let number, let head = response.head { recorder.setResponse(head, of: number) }
        let writer = ResponseWriter(
            response, to: transport,
            bodyBytesSent: { count in if let number { recorder.addBytesSent(count, of: number) } },
            onResume: { [weak self] in self?.resume($0) })
        phase = .responding(writer)
        advance(writer)
    }

    private func resume(_ writer: ResponseWriter) {
        guard case .responding(let current) = phase, current === writer else { return }
        advance(writer)
        updateInterest()
    }

    private func advance(_ writer: ResponseWriter) {
        switch writer.advance() {
        case .blocked, .paused:
            break
        case .stalled:
            if clientHasFinished { close(.clientLeft) }
        case .ended(.complete):
            writer.cancel()
            finishRequest(.complete)
            if writer.keepsConnection {
                phase = .reading
                parseBacklog()
            } else {
                linger()
            }
        case .ended(.cut):
            writer.cancel()
            finishRequest(.cut)
            linger()
        case .ended(let ending):
            close(ending)
        }
    }

    private func linger() {
        guard !clientHasFinished else { return close(.complete) }
        backlog = []
        transport.shutdownWrite()
        phase = .lingering(
            EventLoop.shared.schedule(after: Self.lingering) { [weak self] in self?.close(.complete) })
    }

    // MARK: Other protocols

    /// Answers a WebSocket handshake; a request that is none gets a 400.
    private func upgrade(to script: WebSocketScript, _ traits: ReplyTraits, _ request: PendingRequest) {
        do {
            let handshake = try WebSocketHandshake.response(
                to: request.head, protocols: script.subprotocols, compression: script.compression?.parameters)
            var head = handshake.head
            for field in traits.fields { head.fields.append(FieldName(field.name), field.value) }
            for (name, value) in traits.replacements { head.fields[name] = value }
            var bytes: [UInt8] = []
            try head.encode(into: &bytes)
            context.recorder.setResponse(head, of: request.received.number)
            finishRequest(.complete)
            leaveHTTP(
                to: WebSocketPeer(
                    transport, sending: bytes, handshake.agreement, script, recorder: context.recorder,
                    request: request.received.number, recordLimit: context.maximumRecordedBody,
                    ended: { [weak self] ending in self?.close(ending) }))
        } catch {
            write(Response(failure: 400, "\(error)", to: request))
        }
    }

    private func streamPeer(_ script: StreamScript, sending head: [UInt8] = [], request: Int?) -> StreamPeer {
        StreamPeer(
            transport, sending: head, script, recorder: context.recorder, request: request,
            recordLimit: context.maximumRecordedBody, ended: { [weak self] ending in self?.close(ending) })
    }

    private func leaveHTTP(to peer: any Peer) {
        phase = .upgraded(peer)
        // While bytes are being parsed, `receive` starts the peer with those that are left.
        guard !isParsing else { return }
        let held = backlog
        backlog = []
        peer.start(with: held)
    }
}

extension Connection: UploadConnection {
    func sendInterim(_ head: ResponseHead) {
        var bytes: [UInt8] = []
        do {
            try head.encode(into: &bytes)
            // Only a client that reads nothing lets the transport's buffer fill up with interim responses.
            guard try transport.send(bytes, bytes.indices) == bytes.count else { return close(.cut) }
        } catch {
            close(.clientLeft)
        }
    }

    func answer(_ reply: ResolvedReply, as received: ReceivedRequest?) {
        guard var request = pending else { return }
        if let received { request.received = received }
        send(reply, to: request, depth: 0)
        updateInterest()
    }

    func addRoute(_ path: String, _ reply: Reply) {
        context.routes.set(reply, path: path, method: nil)
    }

    func breakOff(_ ending: LoopbackServer.Ending) {
        switch ending {
        case .cut:
            finishRequest(.cut)
            linger()
            updateInterest()
        case .complete, .reset, .clientLeft, .serverStopped:
            close(ending)
        }
    }

    func perform(_ fault: Reply.RecordFault) -> ServerTLSTransport.Consequence? {
        (transport as? ServerTLSTransport)?.perform(fault)
    }

    func holdBody() {
        phase = .holdingBody
        updateInterest()
    }

    func continueBody() {
        guard case .holdingBody = phase else { return }
        phase = .reading
        parseBacklog()
        updateInterest()
    }
}

extension Connection: TransportHandler {
    func transportIsReadable(_ transport: any LoopTransport) {
        do {
            guard let bytes = try transport.receive() else { return }
            if bytes.isEmpty { finishReading() } else { receive(bytes) }
            updateInterest()
        } catch {
            close(.clientLeft)
        }
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        guard case .responding(let writer) = phase else { return }
        advance(writer)
        updateInterest()
    }

    private func finishReading() {
        clientHasFinished = true
        switch phase {
        case .reading, .holdingBody, .preparing, .lingering:
            close(.clientLeft)
        case .responding(let writer):
            // A client may end its side and still read. While the script sends nothing, such a client cannot be told
            // from one that has left.
            if writer.progress == .stalled { close(.clientLeft) }
        case .upgraded, .closed:
            break
        }
    }
}
