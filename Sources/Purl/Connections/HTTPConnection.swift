import Foundation
internal import PurlHTTP
internal import PurlIO

/// Why an exchange ended before its message did.
enum ExchangeFailure: Error {
    /// The connection ended before the first byte of a response.
    case closedBeforeResponse(SystemError?)
    /// The connection ended in the middle of the response.
    case closedDuringResponse(SystemError?)
    /// The request's body could not be sent to its end, for reasons of its own.
    case body(BodyFailure)
    /// The response breaks the grammar or a limit.
    case malformed(ParseError)
    /// A 101 that nobody asked for (RFC 9110 §7.8).
    case unaskedUpgrade
    /// More interim responses than `HeadLimits` allows.
    case tooManyInterimResponses
}

/// One connection to an origin, which carries one exchange after another (RFC 9112 §9.3).
///
/// It owns the socket, the parsers and the bytes in between; it knows nothing of tasks, files or delegates.
@NetworkActor
final class HTTPConnection: ResponseSource, TransportHandler {
    let lane: ConnectionPool.Lane
    let generation: Int
    /// When an idle connection is given up.
    var idleDeadline = EventLoop.shared.now
    /// The turn of the loop in which it became idle.
    var idleTurn: UInt64 = 0
    /// What the server's `Keep-Alive` field allows.
    private(set) var idleLimit: Duration?
    /// An earlier exchange used this connection.
    private(set) var isReused = false
    /// How it came about.
    var dialTimes: DialTimes?
    /// Both ends, asked for once, by those who want to know.
    private(set) lazy var ends = (local: socket.localAddress, remote: socket.peerAddress)

    /// How long a body waits for the server to say that it wants it (RFC 9110 §10.1.1).
    private static let continueLimit = Duration.seconds(1)

    private let socket: StreamSocket
    private unowned let pool: ConnectionPool
    private var exchange: Exchange?
    private var output = OutgoingMessage()
    private var continueTimer: SessionTimer?
    /// Bytes that had arrived when reading was paused.
    private var stash: [UInt8] = []
    private var isConsuming = false
    /// Where the session limits what it receives and sends in a second.
    private var receiving: RateShare?
    private var sending: RateShare?
    /// The response after which the connection is no longer this one's.
    private var handover: (head: ResponseHead, client: any ExchangeClient)?

    /// The exchange in progress.
    @NetworkActor
    private final class Exchange {
        let client: any ExchangeClient
        let method: RequestMethod
        let requestFields: HeaderFields
        /// The response may make the connection speak another protocol.
        let mayUpgrade: Bool
        var parser = ResponseHeadParser()
        var interimResponses = 0
        var response: ResponseHead?
        var framing = BodyFraming.none
        var decoder = BodyDecoder(.none)
        /// Where content of known length goes without being looked at.
        var pipe: ContentPipe?
        var isPaused = false
        var receivedAnything = false
        /// Where somebody wants to know how it went.
        let metrics: TransactionMetricsCollector?

        init(
            _ client: any ExchangeClient, _ head: RequestHead, _ metrics: TransactionMetricsCollector?, mayUpgrade: Bool
        ) {
            self.client = client
            self.mayUpgrade = mayUpgrade
            method = head.method
            requestFields = head.fields
            self.metrics = metrics
        }
    }

    init(_ socket: StreamSocket, lane: ConnectionPool.Lane, pool: ConnectionPool, generation: Int) {
        self.socket = socket
        self.lane = lane
        self.pool = pool
        self.generation = generation
        socket.handler = self
        socket.interest = .read
        receiving = pool.receiveLimit.map { RateShare(of: $0) { [weak self] in self?.takeTurn(receiving: $0) } }
        sending = pool.sendLimit.map { RateShare(of: $0) { [weak self] in self?.takeTurn(sending: $0) } }
    }

    var isOpen: Bool { socket.isOpen }
    /// Nothing has arrived since the last exchange. What the server says unasked, its goodbye included, must never be
    /// taken for the answer to the next request. Mostly the loop has looked since, and has nothing told; it does not look
    /// where the last exchange stood in line for the session's limit.
    var isQuiet: Bool {
        socket.interest.contains(.read) && EventLoop.shared.hasToldAll(since: idleTurn) || socket.isQuiet
    }

    // MARK: For the client

    /// Sends a request and reports its response to `client`.
    ///
    /// - Parameters:
    ///   - head: The request's head; its encoding is `bytes`.
    ///   - body: What follows the head. If the head says `Expect: 100-continue` it waits for the server's word, though
    ///     not for ever.
    ///   - metrics: Collects the exchange's metrics, where a delegate may ask for them.
    ///   - mayUpgrade: 101, and success of a CONNECT, take the connection out of the pool for the client.
    func start(
        _ head: RequestHead, encoded bytes: [UInt8], body: OutgoingBody, metrics: TransactionMetricsCollector? = nil,
        mayUpgrade: Bool = false, client: any ExchangeClient
    ) {
        exchange = Exchange(client, head, metrics, mayUpgrade: mayUpgrade)
        let asksFirst = body.length != 0 && head.fields.hasToken("100-continue", in: .expect)
        output = OutgoingMessage(head: bytes, body: body, asksFirst: asksFirst) { [weak self] in self?.flush() }
        if asksFirst {
            continueTimer = pool.clock.schedule(after: Self.continueLimit) { [weak self] in self?.startBody() }
        }
        flush()
    }

    var isRemote: Bool { true }

    var awaitsItsOwn: Bool { output.awaitsContent || receiving?.isInLine == true || sending?.isInLine == true }

    /// Sending stops with reading.
    var isPaused: Bool {
        get { exchange?.isPaused ?? false }
        set {
            guard exchange != nil, exchange?.isPaused != newValue else { return }
            exchange?.isPaused = newValue
            updateInterest()
            if !newValue, !isConsuming { continueReading() }
        }
    }

    /// Moves the rest of the content into `pipe`, where it can be moved; what comes with other parts of the message, and
    /// content in chunks, comes as bytes nonetheless.
    func moveContent(into pipe: ContentPipe) {
        exchange?.pipe = pipe
    }

    /// The connection is not used again.
    func abandon() {
        guard exchange != nil else { return }
        stopSending()
        exchange = nil
        pool.release(self, mayStay: false)
    }

    func surrender() -> (socket: StreamSocket, surplus: [UInt8])? {
        stopSending()
        exchange?.metrics?.markEnd()
        exchange = nil
        leavePool()
        return (socket, stash)
    }

    /// Closes an idle connection; for the pool.
    func close() {
        socket.handler = nil
        socket.close()
    }

    // MARK: Sending

    func transportIsWritable(_ transport: any Transport) {
        flush()
    }

    private func flush() {
        // Nothing waits in line that the socket would not be asked to take.
        guard let sending, output.awaitsSocket, exchange?.isPaused == false else { return flush(atMost: .max) }
        let allowance = sending.ask()
        allowance > 0 ? flush(atMost: allowance) : updateInterest()
    }

    private func flush(atMost limit: Int) {
        guard exchange?.isPaused == false else { return updateInterest() }
        do throws(SystemError) {
            let before = output.bytesSent
            let bodyBytes = try output.send(through: socket, atMost: limit)
            sending?.take(Int(clamping: output.bytesSent - before))
            if output.awaitsSocket, sending?.hasUsedTurn == true { _ = sending?.ask() }
            exchange?.metrics?.setSent(output, content: bodyBytes)
            updateInterest()
            if bodyBytes > 0 { exchange?.client.exchange(self, didSendBodyBytes: bodyBytes) }
            if let failure = output.failure { fail(.body(failure)) }
        } catch {
            // The server may have answered and closed before it read everything (RFC 9112 §9.5): what it said is
            // read first. If it said nothing, reading ends in the same error.
            stopSending()
            updateInterest()
        }
    }

    /// The server wants the body, or has had its time to say so.
    private func startBody() {
        continueTimer?.cancel()
        continueTimer = nil
        guard output.awaitsContinue else { return }
        output.startBody()
        flush()
    }

    /// What has not been sent of the request is not sent any more.
    private func stopSending() {
        continueTimer?.cancel()
        continueTimer = nil
        output.stop()
    }

    private func updateInterest() {
        guard socket.isOpen else { return }
        var interest: Interest = []
        if exchange?.isPaused != true {
            if receiving?.isInLine != true { interest.insert(.read) }
            if output.awaitsSocket, sending?.isInLine != true { interest.insert(.write) }
        }
        if socket.interest != interest { socket.interest = interest }
    }

    // MARK: Receiving

    func transportIsReadable(_ transport: any Transport) {
        guard let receiving, exchange != nil else { return receive(atMost: .max) }
        let allowance = receiving.ask()
        allowance > 0 ? receive(atMost: allowance) : updateInterest()
    }

    private func receive(atMost limit: Int) {
        if let pipe = exchange?.pipe, move(into: pipe, atMost: limit) { return }
        do throws(SystemError) {
            guard let bytes = try socket.receive(atMost: limit) else { return }
            if bytes.isEmpty {
                endOfStream()
            } else {
                receiving?.take(bytes.count)
                exchange?.client.exchangeMadeProgress(self)
                consume(bytes)
            }
        } catch {
            connectionLost(error)
        }
    }

    /// One portion of content; false when there is nothing that could be moved.
    private func move(into pipe: ContentPipe, atMost limit: Int) -> Bool {
        guard exchange?.response != nil, let remainder = exchange?.decoder.plainRemainder else { return false }
        do throws(SystemError) {
            guard let count = try pipe.fill(from: socket, limit: min(limit, Int(clamping: remainder))) else {
                return true
            }
            guard count > 0 else {
                endOfStream()
                return true
            }
            receiving?.take(count)
            exchange?.client.exchangeMadeProgress(self)
            exchange?.metrics?.addBodyBytes(count)
            exchange?.decoder.skip(count)
            exchange?.client.exchange(self, didMoveContent: count)
            // That may have been the last of it.
            if !isPaused { continueReading() }
        } catch {
            // If the connection itself is at fault, reading says so, too.
            exchange?.pipe = nil
            return false
        }
        return true
    }

    // MARK: Turns

    private func takeTurn(receiving allowance: Int) {
        guard let receiving, comesBackFromLine() else { return }
        if isReceiving {
            receive(atMost: allowance)
            // There will be more: the socket need not say so first.
            if isReceiving, receiving.hasUsedTurn { _ = receiving.ask() }
        }
        updateInterest()
    }

    private func takeTurn(sending allowance: Int) {
        guard comesBackFromLine() else { return }
        flush(atMost: allowance)
    }

    private var isReceiving: Bool { exchange?.isPaused == false }

    /// False when nobody wants bytes any more. The server is not to blame for the time.
    private func comesBackFromLine() -> Bool {
        exchange?.client.exchangeMadeProgress(self)
        return socket.isOpen && socket.handler === self
    }

    /// Goes on with what had arrived before the pause. That may be no byte at all and still be an event: an empty
    /// body ends without one.
    private func continueReading() {
        let bytes = stash
        stash = []
        bytes.withUnsafeBytes { consume($0) }
    }

    /// Feeds bytes to the parsers until they are used up, the client pauses or the message ends.
    private func consume(_ bytes: UnsafeRawBufferPointer) {
        guard let current = exchange else { return closeUnasked() }
        isConsuming = true
        defer { isConsuming = false }
        if !bytes.isEmpty { current.receivedAnything = true }
        var offset = 0
        do throws(ParseError) {
            while let exchange {
                if exchange.isPaused {
                    stash.append(contentsOf: bytes[offset...])
                    return
                }
                guard try step(exchange, bytes, &offset) else { return }
            }
            if handover != nil { handOver(surplus: bytes[offset...]) }
        } catch {
            fail(.malformed(error))
        }
    }

    /// One event; false when the parsers need more bytes.
    private func step(
        _ exchange: Exchange, _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ParseError) -> Bool {
        let start = offset
        guard exchange.response != nil else {
            let head = try exchange.parser.parse(bytes.bytes, from: &offset)
            exchange.metrics?.addHeadBytes(offset - start)
            guard let head else { return false }
            try receive(head, in: exchange)
            return true
        }
        let next = try exchange.decoder.decode(bytes.bytes, from: &offset)
        exchange.metrics?.addBodyBytes(offset - start)
        guard let event = next else { return false }
        switch event {
        case .bytes(let range):
            exchange.client.exchange(self, didReceive: UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .end:
            finish(surplus: offset < bytes.count)
        }
        return true
    }

    private func receive(_ head: ResponseHead, in exchange: Exchange) throws(ParseError) {
        // A 101 is no tunnel, nor is a success a switch.
        let isTurn = exchange.method == .connect ? head.status / 100 == 2 : head.status == 101
        if exchange.mayUpgrade, isTurn {
            handover = (head, exchange.client)
            exchange.metrics?.markEnd()
            self.exchange = nil
            return
        }
        if head.status == 101 { return fail(.unaskedUpgrade) }
        if head.isInterim {
            exchange.interimResponses += 1
            if exchange.interimResponses > HeadLimits.standard.maximumInterimResponses {
                return fail(.tooManyInterimResponses)
            }
            exchange.metrics?.restartResponse()
            if head.status == 100 { startBody() }
            exchange.client.exchange(self, didReceiveInterim: head)
            return
        }
        let framing = try BodyFraming.ofResponse(head, to: exchange.method)
        exchange.response = head
        exchange.framing = framing
        exchange.decoder = BodyDecoder(framing)
        // A server that has asked for nothing yet, or has found fault, does not want the rest (RFC 9112 §9.5). One that
        // is content may answer while it reads.
        if output.awaitsContinue || head.status >= 300 {
            stopSending()
            updateInterest()
        }
        exchange.client.exchange(self, didReceive: head, framing: framing)
    }

    /// What follows the head belongs to the other protocol.
    private func handOver(surplus: Slice<UnsafeRawBufferPointer>) {
        guard let (head, client) = handover else { return }
        handover = nil
        leavePool()
        client.exchange(self, didSwitchTo: socket, with: head, surplus: [UInt8](surplus))
    }

    /// The socket belongs to somebody else from now on.
    private func leavePool() {
        socket.interest = []
        socket.handler = nil
        pool.detach(self)
    }

    private func finish(surplus: Bool) {
        guard let ended = exchange, let response = ended.response else { return }
        exchange = nil
        ended.metrics?.markEnd()
        isReused = true
        idleLimit = ConnectionReuse.idleTimeout(response).map { .seconds($0) }
        // Surplus bytes are not a response to anything (RFC 9112 §11.2).
        let mayStay =
            !surplus && output.isSent
            && ConnectionReuse.isAllowed(
                after: response, framing: ended.framing, requestFields: ended.requestFields)
        stopSending()
        output = OutgoingMessage()
        pool.release(self, mayStay: mayStay)
        ended.client.exchangeDidFinish(self)
    }

    // MARK: Ends

    private func endOfStream() {
        guard exchange != nil else { return closeUnasked() }
        guard exchange?.response != nil else { return connectionLost(nil) }
        do throws(ParseError) {
            _ = try exchange?.decoder.endOfStream()
            finish(surplus: false)
        } catch {
            connectionLost(nil)
        }
    }

    private func connectionLost(_ error: SystemError?) {
        guard let current = exchange else { return closeUnasked() }
        fail(current.receivedAnything ? .closedDuringResponse(error) : .closedBeforeResponse(error))
    }

    private func fail(_ failure: ExchangeFailure) {
        guard let ended = exchange else { return }
        ended.metrics?.markEnd()
        stopSending()
        exchange = nil
        pool.release(self, mayStay: false)
        ended.client.exchange(self, didFailWith: failure)
    }

    /// The server closed an idle connection, or sent something that nobody asked for.
    private func closeUnasked() {
        guard socket.isOpen else { return }
        close()
        pool.idleConnectionClosed(self)
    }
}
