package import PurlHTTP
package import PurlIO

/// Why an exchange ended before its message did.
package enum ExchangeFailure: Error {
    /// The connection ended before the first byte of a response.
    case closedBeforeResponse(SystemError?, RequestReach)
    /// The connection ended in the middle of the response.
    case closedDuringResponse(SystemError?)
    /// A secure connection ended in the middle of the response, and not in the way TLS asks for.
    case truncated
    /// The secure connection has failed.
    case security(any Error)
    /// The request's body could not be sent to its end, for reasons of its own.
    case body(BodyFailure)
    /// The response breaks the grammar or a limit.
    case malformed(ParseError)
    /// A 101 that the request did not ask for (RFC 9110 §7.8).
    case unaskedUpgrade
    /// More interim responses than the session allows.
    case tooManyInterimResponses
}

/// One request and its response on one connection (RFC 9112).
///
/// The connection moves the bytes and drives the exchange: it has it send, and gives it what arrives. An ``OutgoingMessage``
/// knows what is still to be sent, an ``IncomingMessage`` what has been received. The exchange brings the two together: it
/// reports to its client, and lets the connection know when it is over, and whether another one may follow.
///
/// ```
/// awaiting the head ──► receiving the body ──┬──► over
///   │      ▲ interim response                │     ▲
///   │      └───┘                             └──► sending the rest
///   ├── closed ──► whether the request arrived ────┤
///   ├── 101, or a tunnel is open ──► switched ─────┤
///   └── failure, abandoned ────────────────────────┘
/// ```
/// A server may respond before it has read the request. One that is content reads on: the exchange is over when both
/// messages are complete, or the server has closed the connection after its own (RFC 9112 §9.5).
@NetworkActor
final class Exchange {
    private enum Stage {
        case awaitingHead
        case receivingBody(ResponseHead, BodyFraming)
        /// The response is complete, the request is not.
        case sendingRest(Sequel)
        /// The stream has ended without a response, and it is not known yet whether the request can have been read.
        case awaitingReach(LoopTimer)
        /// After this response the connection speaks another protocol.
        case switched(ResponseHead)
        case over
    }

    /// What may follow on the connection after both messages.
    private struct Sequel {
        var mayStay: Bool
        let idleLimit: Duration?
    }

    /// When it is looked whether a request has reached a closed connection. The second attempt of the system to send it, and
    /// the reset that is its answer, have their time.
    private static let reachDelays: [Duration] = [2, 8, 40, 150, 300, 500, 1_000].map { .milliseconds($0) }
    /// How long a body waits for the server to ask for it (RFC 9110 §10.1.1).
    private static let continueLimit = Duration.seconds(1)

    private var client: any ExchangeClient
    /// Held for as long as it carries the exchange, and lets go of it at the end.
    private let connection: HTTPConnection
    private let method: RequestMethod
    private let requestFields: HeaderFields
    private let observer: (any ExchangeObserver)?
    private var stage = Stage.awaitingHead
    private(set) var isPaused = false

    // Sending
    private var output: OutgoingMessage
    private var continueTimer: SessionTimer?
    /// Why the transport took no more.
    private var sendingError: SystemError?

    // Receiving
    private var input: IncomingMessage
    private var receivedAnything = false
    /// The pipe that takes content of known length, so that it does not pass through the process.
    private var pipe: ContentPipe?
    /// Bytes that had arrived when the exchange was paused.
    private var stash: [UInt8] = []
    private var isConsuming = false

    /// An exchange that has sent nothing yet.
    ///
    /// - Parameters:
    ///   - head: The request's head; its encoding is `bytes`.
    ///   - connection: Sends when the body's source has more, or need not wait for the server any longer.
    init(
        _ head: RequestHead, encoded bytes: [UInt8], content: OutgoingContent, observer: (any ExchangeObserver)?,
        mayUpgrade: Bool, client: any ExchangeClient, on connection: HTTPConnection
    ) {
        self.client = client
        self.connection = connection
        self.observer = observer
        method = head.method
        input = IncomingMessage(to: head.method, mayUpgrade: mayUpgrade, limits: connection.headLimits)
        requestFields = head.fields
        let asksFirst = content.length != 0 && head.fields.hasToken("100-continue", in: .expect)
        output = OutgoingMessage(head: bytes, content: content, asksFirst: asksFirst)
        if output.isFed { output.whenSupplied { [weak connection] in connection?.flush() } }
        if asksFirst {
            continueTimer = connection.clock.schedule(after: Self.continueLimit) { [weak self] in
                self?.startBody()
            }
        }
    }

    // MARK: Sending

    /// The request has bytes that only the transport keeps from going out.
    var awaitsTransport: Bool { output.awaitsTransport }

    /// Nothing can be sent before the body's source has more.
    var awaitsContent: Bool { output.awaitsContent }

    /// Sends what the transport takes, and no more than `limit` bytes.
    func send(atMost limit: Int) {
        guard !isPaused else { return connection.updateInterest() }
        do throws(SystemError) {
            let before = output.bytesSent
            let bodyBytes = try output.send(through: connection.transport, atMost: limit)
            connection.paced.countSent(Int(clamping: output.bytesSent - before))
            if output.awaitsTransport { connection.paced.queueToSend() }
            observer?.exchangeDidSend(output.sent, content: bodyBytes)
            connection.updateInterest()
            if bodyBytes > 0 { client.exchange(connection, didSendBodyBytes: bodyBytes) }
            if let failure = output.failure { fail(.body(failure)) }
            if case .sendingRest(let sequel) = stage, output.isSent { conclude(sequel) }
        } catch {
            if case .sendingRest = stage { return connectionLost(error) }
            // The server may have answered and closed before it read everything (RFC 9112 §9.5): its response is read
            // first. If there is none, reading ends in the same error.
            sendingError = error
            stopSending()
            connection.updateInterest()
        }
    }

    /// The server asks for the body, or has had its time to do so.
    private func startBody() {
        continueTimer?.cancel()
        continueTimer = nil
        guard output.awaitsContinue else { return }
        output.startBody()
        connection.flush()
    }

    /// Sends no more of the request.
    private func stopSending() {
        continueTimer?.cancel()
        continueTimer = nil
        output.stop()
    }

    // MARK: Flow

    /// What follows is reported to another client.
    func report(to client: any ExchangeClient) {
        self.client = client
    }

    /// Stops or continues to send and to receive.
    func setPaused(_ isPaused: Bool) {
        guard self.isPaused != isPaused else { return }
        self.isPaused = isPaused
        connection.updateInterest()
        if !isPaused, !isConsuming { continueReading() }
    }

    /// Moves the rest of the content into `pipe`, where it can be moved. What comes with other parts of the message, and
    /// content in chunks, comes as bytes nonetheless.
    func moveContent(into pipe: ContentPipe) {
        self.pipe = pipe
    }

    /// The client has been kept waiting by the session's limit, not by the server.
    func turnHasCome() {
        client.exchangeMadeProgress(connection)
    }

    // MARK: Receiving

    /// Takes bytes that have arrived; none at the end of the stream.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return endOfStream() }
        client.exchangeMadeProgress(connection)
        consume(bytes)
    }

    /// Moves one portion of content into the pipe; false when there is none that could be moved.
    func movePortion(atMost limit: Int) -> Bool {
        guard let pipe, case .receivingBody = stage, let remainder = input.plainRemainder
        else { return false }
        do throws(SystemError) {
            let limit = min(limit, Int(clamping: remainder))
            let count: Int
            switch try pipe.fill(from: connection.transport, limit: limit) {
            case .moved(let moved):
                count = moved
            case .notNow:
                return true
            case .end:
                endOfStream()
                return true
            case .unsupported:
                self.pipe = nil
                return false
            }
            connection.paced.countReceived(count)
            client.exchangeMadeProgress(connection)
            observer?.exchangeDidMoveBody(bytes: count)
            input.skip(count)
            client.exchange(connection, didMoveContent: count)
            // That may have been the last of it.
            if !isPaused { continueReading() }
        } catch {
            // If the connection itself is at fault, reading fails, too.
            self.pipe = nil
            return false
        }
        return true
    }

    /// Continues with what had arrived before the pause. That may be no byte at all and still be an event: an empty
    /// body ends without one.
    private func continueReading() {
        let bytes = stash
        stash = []
        bytes.withBytes { consume($0) }
    }

    /// Feeds bytes to the parsers until they are used up, the client pauses or the message ends.
    private func consume(_ bytes: UnsafeRawBufferPointer) {
        isConsuming = true
        defer { isConsuming = false }
        if !bytes.isEmpty { receivedAnything = true }
        var offset = 0
        do throws(ParseError) {
            while true {
                switch stage {
                case .over: return
                case .switched(let head): return handOver(after: head, surplus: bytes[offset...])
                case .sendingRest:
                    if offset < bytes.count { receiveSurplus() }
                    return
                case .awaitingReach: return
                case .awaitingHead, .receivingBody: break
                }
                guard !isPaused else {
                    stash.append(contentsOf: bytes[offset...])
                    return
                }
                guard try step(bytes, &offset) else { return }
            }
        } catch {
            fail(.malformed(error))
        }
    }

    /// One event; false when the parsers need more bytes.
    private func step(
        _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
    ) throws(ParseError) -> Bool {
        let start = offset
        guard case .receivingBody = stage else {
            let head = try input.parseHead(bytes, &offset)
            observer?.exchangeDidReceiveHead(bytes: offset - start)
            guard let head else { return false }
            try receive(head)
            return true
        }
        let next = try input.decodeBody(bytes, &offset)
        switch next {
        case .bytes(let range):
            let content = UnsafeRawBufferPointer(rebasing: bytes[range])
            observer?.exchangeDidReceiveBody(bytes: offset - start, content: content)
            client.exchange(connection, didReceive: content)
        case .end, nil:
            observer?.exchangeDidReceiveBody(
                bytes: offset - start, content: UnsafeRawBufferPointer(start: nil, count: 0))
            guard next != nil else { return false }
            finish(surplus: offset < bytes.count)
        }
        return true
    }

    private func receive(_ head: ResponseHead) throws(ParseError) {
        observer?.exchangeDidReceive(head)
        switch try input.take(head) {
        case .switching:
            stage = .switched(head)
        case .unacceptable(let failure):
            fail(failure)
        case .interim:
            observer?.exchangeWillReceiveAnotherResponse()
            if head.status == 100 { startBody() }
            client.exchange(connection, didReceiveInterim: head)
        case .final(let framing):
            stage = .receivingBody(head, framing)
            // A server that has asked for nothing yet, or has found fault, does not want the rest (RFC 9112 §9.5). One
            // that is content may answer while it reads.
            if output.awaitsContinue || head.status >= 300 {
                stopSending()
                connection.updateInterest()
            }
            client.exchange(connection, didReceive: head, framing: framing)
        }
    }

    // MARK: Ends

    /// What follows the head belongs to the other protocol.
    private func handOver(
        after head: ResponseHead, surplus: Slice<UnsafeRawBufferPointer>
    ) {
        stage = .over
        observer?.exchangeDidEnd(.switched(status: head.status))
        connection.switchProtocols()
        client.exchange(connection, didSwitchTo: connection.transport, with: head, surplus: [UInt8](surplus))
    }

    private func finish(surplus: Bool) {
        guard case .receivingBody(let response, let framing) = stage else { return }
        // Surplus bytes are not a response to anything (RFC 9112 §11.2).
        let mayStay =
            !surplus && ConnectionReuse.isAllowed(after: response, framing: framing, requestFields: requestFields)
        let sequel = Sequel(
            mayStay: mayStay, idleLimit: ConnectionReuse.idleTimeout(response).map { .seconds($0) })
        // The connection's end was the response's end.
        guard output.isUnfinished, framing != .untilClose else { return conclude(sequel) }
        stage = .sendingRest(sequel)
        connection.updateInterest()
    }

    /// What a server sends after its response is not a response to anything, whatever of the request is still to be sent.
    private func receiveSurplus() {
        guard case .sendingRest(var sequel) = stage else { return }
        sequel.mayStay = false
        stage = .sendingRest(sequel)
    }

    /// Both messages are complete, or the server wants no more of the request.
    private func conclude(_ sequel: Sequel) {
        stage = .over
        let mayStay = sequel.mayStay && output.isSent
        stopSending()
        observer?.exchangeDidEnd(.finished(connectionStays: mayStay))
        connection.exchangeDidFinish(mayStay: mayStay, idleLimit: sequel.idleLimit)
        client.exchangeDidFinish(connection)
    }

    private func endOfStream() {
        guard case .receivingBody = stage else { return connectionLost(nil) }
        do throws(ParseError) {
            try input.endOfStream()
            finish(surplus: false)
        } catch {
            connectionLost(nil)
        }
    }

    /// Nothing can be received any more.
    func connectionLost(_ error: SystemError?) {
        switch (connection.securityLayer?.fault, stage) {
        case (.failed(let error), _): fail(.security(error))
        // A server that closes the connection after a complete response does not want the rest of the request. A network
        // that is gone is another matter.
        case (_, .sendingRest(let sequel)) where error?.isClosing ?? true: conclude(sequel)
        case (.truncated, _) where receivedAnything: fail(.truncated)
        case (.truncated, _): endBeforeResponse(nil, Self.reachDelays[...])
        case (nil, _) where receivedAnything: fail(.closedDuringResponse(error))
        case (nil, _): endBeforeResponse(error, Self.reachDelays[...])
        }
    }

    /// The connection has ended before a byte of the response: finds out whether the request can have been read, where that
    /// decides whether it is sent again.
    private func endBeforeResponse(
        _ error: SystemError?, _ delays: ArraySlice<Duration>
    ) {
        if case .awaitingReach(let timer) = stage { timer.cancel() }
        stopSending()
        let reach = RequestReach(
            bytesSent: output.bytesSent, ending: error == nil ? .endOfStream : .failure,
            delivery: isResetAlone ? connection.transport.delivery : nil)
        guard case .onItsWay = reach, connection.isReused, !method.isIdempotent, let delay = delays.first else {
            return fail(.closedBeforeResponse(error, reach))
        }
        connection.stopWatching()
        stage = .awaitingReach(
            EventLoop.shared.schedule(after: delay) { [weak self] in self?.endBeforeResponse(error, delays.dropFirst())
            })
    }

    /// Sending has not failed in another way than a reset makes it fail.
    private var isResetAlone: Bool { sendingError?.isClosing ?? true }

    private func fail(_ failure: ExchangeFailure) {
        if case .over = stage { return }
        stop()
        observer?.exchangeDidEnd(.failed(failure))
        connection.exchangeDidFail()
        client.exchange(connection, didFailWith: failure)
    }

    /// Ends without a call to the client, which wants no more.
    func abandon() {
        observer?.exchangeDidEnd(.abandoned)
        stop()
    }

    private func stop() {
        if case .awaitingReach(let timer) = stage { timer.cancel() }
        stopSending()
        stage = .over
    }

    /// Ends because the client takes over the connection. Returns what has arrived and was not reported yet.
    func surrender() -> [UInt8] {
        stop()
        observer?.exchangeDidEnd(.surrendered)
        return stash
    }
}
