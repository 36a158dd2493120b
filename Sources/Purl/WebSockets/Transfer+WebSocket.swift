import Foundation
internal import PurlHTTP
internal import PurlIO

/// How a transfer becomes a WebSocket connection (RFC 6455 §4.1), and ends as one.
extension Transfer {
    private var webSocketTask: URLSessionWebSocketTask? { task as? URLSessionWebSocketTask }

    /// How long a server has for its close frame.
    var closingLimit: Duration { Self.duration(progressLimit) }

    // MARK: The handshake

    /// Sends the handshake, or asks the proxy for a way to the server first.
    func shakeHands(on connection: HTTPConnection, _ target: RequestTarget) {
        guard webSocket != nil else { return }
        if let proxy, connection.lane.origin.isProxy { return askForTunnel(to: target, through: proxy, on: connection) }
        var head = composeHead(at: target, framing: .none)
        authenticate(&head, to: .server(target.origin), target: target.originForm)
        let nonce = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        handshake = WebSocketHandshake(nonce: nonce, addingTo: &head)
        send(head, upgrading: connection)
    }

    /// RFC 6455 §4.1 item 3: a proxy is asked to connect, whatever the scheme.
    func askForTunnel(to target: RequestTarget, through proxy: HTTPProxy, on connection: HTTPConnection) {
        let composed = composeHead(at: target, framing: .none)
        guard case .host(let host, let port) = target.origin.endpoint else {
            return giveBack(connection, failing: .url(.badAuthority))
        }
        let authority = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        var head = RequestHead(method: "CONNECT", target: authority, fields: [.host: authority])
        for name in [FieldName.userAgent, .proxyAuthorization] {
            if let value = composed.fields[name] { head.fields.append(name, value) }
        }
        authenticate(&head, to: .proxy(proxy.endpoint), target: authority)
        handshake = nil
        send(head, upgrading: connection)
    }

    private func send(_ head: RequestHead, upgrading connection: HTTPConnection) {
        guard let bytes = encode(head, for: connection) else { return }
        if handshake != nil { task.shared.withLock { $0.sentFields = head.fields } }
        metrics?.current.noteStart(on: connection, fields: head.fields)
        connection.start(
            head, encoded: bytes, body: .none, record: metrics?.current, mayUpgrade: true, client: self)
    }

    func exchange(
        _ source: any ResponseSource, didSwitchTo socket: StreamSocket, with head: ResponseHead, surplus: [UInt8]
    ) {
        if webSocket == nil, stream == nil { return takeSwitch(of: socket, with: head, surplus: surplus) }
        guard let handshake, let url = request.url, let webSocket else { return openTunnel(socket, surplus) }
        let response = note(head, from: url)
        concludeAuthentication(head, asking: nil)
        do throws(WebSocketHandshakeError) {
            let agreement = try handshake.check(head)
            publish(response, received: 0, expected: NSURLSessionTransferSizeUnknown)
            announceOpening(agreement.subprotocol)
            phase = .exchanging(webSocket)
            webSocket.transfer = self
            webSocket.isPaused = !holds.isEmpty
            webSocket.open(socket, agreement, received: surplus)
        } catch {
            socket.close()
            phase = .parked
            publish(response, received: 0, expected: 0)
            fail(.webSocket(.handshake(error)))
        }
    }

    /// The proxy has connected: what is to be said to the server goes the same way.
    private func openTunnel(_ socket: StreamSocket, _ surplus: [UInt8]) {
        if let stream { return start(stream, over: socket, received: surplus) }
        guard let target = try? RequestTarget(request.url) else { return socket.close() }
        proxy = nil
        let connection = session.pool.adopt(socket, as: target.origin)
        phase = .exchanging(connection)
        recordBeginning()
        shakeHands(on: connection, target)
    }

    /// Any other response to the handshake, or to the question for a tunnel.
    func refuseConversation(_ answer: Answer) -> TransferFailure {
        let status = answer.head.status
        if stream != nil { return .stream(.tunnelRefused(status: status)) }
        publish(answer.response, received: 0, expected: NSURLSessionTransferSizeUnknown)
        return .webSocket(handshake == nil ? .tunnelRefused(status: status) : .refused(status: status))
    }

    private func announceOpening(_ subprotocol: String?) {
        session.queue.enqueue { [webSocketTask, session] in
            guard let webSocketTask else { return }
            webSocketTask.webSocketDelegate?.urlSession(
                session, webSocketTask: webSocketTask, didOpenWithProtocol: subprotocol)
        }
    }

    // MARK: What the conversation tells

    func webSocketDidReceive(_ count: Int) {
        metrics?.current.noteContent(count)
        task.updateCounts { $0.received += Int64(count) }
    }

    func webSocketDidSend(_ count: Int64) {
        task.updateCounts { $0.sent += count }
    }

    /// The server has sent a close frame, and everything that follows from it has been done.
    func webSocketDidClose(_ close: WebSocketClose?) {
        if let close {
            let reason = close.reason.isEmpty ? nil : Data(close.reason)
            webSocketTask?.noteClose(close.code.map { Int($0) } ?? 1005, reason: reason)
            session.queue.enqueue { [webSocketTask, session] in
                guard let webSocketTask else { return }
                webSocketTask.webSocketDelegate?.urlSession(
                    session, webSocketTask: webSocketTask,
                    didCloseWith: webSocketTask.closeCode, reason: webSocketTask.closeReason)
            }
        }
        phase = .ending
        metrics?.current.noteEnd()
        conclude(.success(()))
    }

    func webSocketDidFail(_ failure: WebSocketFailure, status: Int) {
        webSocketTask?.noteClose(status, reason: nil)
        phase = .parked
        fail(.webSocket(failure))
    }
}
