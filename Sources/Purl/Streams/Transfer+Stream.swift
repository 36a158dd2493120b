import Foundation
internal import PurlHTTP
internal import PurlIO

/// How a transfer becomes a stream, from the start or in place of a response, and ends as one.
extension Transfer {
    private var streamTask: URLSessionStreamTask? { task as? URLSessionStreamTask }

    // MARK: From the start

    /// The connection is there: asks the proxy for a way to the server, where there is one.
    func openStream(on connection: HTTPConnection, _ target: RequestTarget) {
        if let proxy, connection.lane.origin.isProxy { return askForTunnel(to: target, through: proxy, on: connection) }
        metrics?.current.noteStart(on: connection, fields: nil)
        guard let stream, let (socket, surplus) = connection.surrender() else { return }
        start(stream, over: socket, received: surplus)
    }

    func start(_ stream: StreamConversation, over socket: StreamSocket, received bytes: [UInt8]) {
        phase = .exchanging(stream)
        task.updateCounts { counts in
            counts = URLSessionTask.ByteCounts(expectedToSend: NSURLSessionTransferSizeUnknown)
        }
        stream.isPaused = !holds.isEmpty
        stream.open(socket, received: bytes, for: self)
    }

    // MARK: In place of a response

    /// The request may ask for another protocol: its task's delegate can speak it, as a stream.
    var mayUpgrade: Bool {
        guard request.hasFields, conversation == nil, writer == nil, downloadTask == nil, hearsOfData else {
            return false
        }
        return request.value(forHTTPHeaderField: "Upgrade") != nil
    }

    /// The server speaks the protocol that the request asked for. That is a response without a body, unless the delegate
    /// wants the connection.
    func takeSwitch(of socket: StreamSocket, with head: ResponseHead, surplus: [UInt8]) {
        let source = SwitchedConnection(socket, surplus, client: self)
        phase = .exchanging(source)
        exchange(source, didReceive: head, framing: .none)
        source.endUnlessPaused()
    }

    /// Goes on with the response's connection under a new task.
    func becomeStream(_ answer: Answer) {
        guard mayBecomeAnother else { return allow(answer) }
        guard let (socket, surplus) = answer.source.surrender() else { return fail(.stream(.noConnection)) }
        let stream = StreamConversation(request, session.settings)
        self.stream = stream
        destination = .nowhere
        coded = nil
        let old = task
        let new = session.makeStreamTask(inPlaceOf: old, stream)
        let isCancelled = goOn(as: new)
        phase = .parked
        announce(inPlaceOf: old) { $0.urlSession($1, dataTask: $2, didBecome: new) }
        guard !isCancelled else {
            socket.close()
            return fail(.cancelled)
        }
        start(stream, over: socket, received: surplus)
    }

    // MARK: What the conversation tells

    func streamDidReceive(_ count: Int) {
        metrics?.current.noteStreamReceived(count)
        task.updateCounts { $0.received += Int64(count) }
    }

    func streamDidSend(_ count: Int) {
        metrics?.current.noteStreamSent(count)
        task.updateCounts { $0.sent += Int64(count) }
    }

    func tellStreamDelegate(
        _ call: @escaping @Sendable (any URLSessionStreamDelegate, URLSession, URLSessionStreamTask) -> Void
    ) {
        session.queue.enqueue { [streamTask, session] in
            guard let streamTask, let delegate = streamTask.streamDelegate else { return }
            call(delegate, session, streamTask)
        }
    }

    /// Both directions are closed.
    func streamDidEnd() {
        phase = .ending
        metrics?.current.noteEnd()
        conclude(.success(()))
    }

    /// The connection is the delegate's from now on, and to hear of it is the delegate's last call.
    func streamsCaptured(_ socket: StreamSocket, _ bytes: [UInt8]) {
        do throws(SystemError) {
            let connection = try socket.detach()
            metrics?.current.noteEnd()
            leave()
            let isReadClosed = stream?.isReadClosed ?? false
            stream?.conclude(nil)
            session.queue.enqueue { [streamTask, tellMetrics = metricsCall()] in
                streamTask?.handOver(connection, after: bytes, isReadClosed: isReadClosed, metrics: tellMetrics)
            }
        } catch {
            fail(.stream(.lost(error)))
        }
    }
}
