import Foundation
internal import PurlHTTP
import Synchronization

extension LoopbackServer {
    /// What has happened to a server so far.
    public struct Record: Sendable {
        /// The requests in the order in which their heads arrived.
        public fileprivate(set) var requests: [ReceivedRequest] = []
        /// The WebSocket connections in the order in which they were accepted.
        public fileprivate(set) var webSockets: [ReceivedWebSocket] = []
        /// The connections without HTTP in the order in which they were accepted.
        public fileprivate(set) var streams: [ReceivedStream] = []
        /// How many requests have arrived (head and body), those that were not kept included.
        public fileprivate(set) var completeRequests = 0
        /// How many requests have not had their whole response yet.
        public fileprivate(set) var unansweredRequests = 0
        /// How many connections are open now.
        public fileprivate(set) var openConnections = 0
        /// How many connections have been accepted.
        public fileprivate(set) var acceptedConnections = 0
        /// The finished handshakes of TLS, in their order.
        public fileprivate(set) var handshakes: [ReceivedHandshake] = []
        /// Why handshakes of TLS have failed, in OpenSSL's words: the alert that a client has sent, say.
        public fileprivate(set) var failedHandshakes: [String] = []
        /// Why messages were refused with 400 because they are not HTTP, one sentence each.
        public fileprivate(set) var badRequests: [String] = []

        /// Grows with every change.
        private(set) var version = 0
        /// How many requests have begun, those that were not kept included.
        fileprivate var startedRequests = 0
        /// How many more bytes of messages are kept, for each of `webSockets`.
        fileprivate var webSocketRooms: [Int] = []
        /// How many more bytes are kept, for each of `streams`.
        fileprivate var streamRooms: [Int] = []

        fileprivate mutating func change<Result>(_ body: (inout Record) -> Result) -> Result {
            version &+= 1
            return body(&self)
        }

        /// Changes the request with this number, if it is kept.
        fileprivate mutating func updateRequest(_ number: Int, _ body: (inout ReceivedRequest) -> Void) {
            guard let position = requests.lastIndex(where: { $0.number <= number }) else { return }
            if requests[position].number == number { body(&requests[position]) }
        }
    }
}

/// Writes a server's ``LoopbackServer/Record``. Any thread.
final class Recorder: Sendable {
    /// The record so far.
    let record = Monitor(LoopbackServer.Record())

    /// A structure, since a function that is by itself in a mutex is wrapped once more whenever it is looked at: each event
    /// would cost more than the one before, and in the end the stack.
    private struct Observer {
        var call: (@Sendable (LoopbackServer.ServerEvent) -> Void)?
    }

    private let keepsRequests: Bool
    private let observer = Mutex(Observer())

    /// Starts an empty record. Without `keepsRequests` only the counts are kept.
    init(keepsRequests: Bool) {
        self.keepsRequests = keepsRequests
    }

    @discardableResult
    private func change<Result: Sendable>(_ body: (inout LoopbackServer.Record) -> Result) -> Result {
        record.update { $0.change(body) }
    }

    /// Calls `observer` with everything that happens from now on.
    func observe(_ observer: (@Sendable (LoopbackServer.ServerEvent) -> Void)?) {
        self.observer.withLock { $0.call = observer }
    }

    private func report(_ event: @autoclosure () -> LoopbackServer.ServerEvent) {
        if let call = observer.withLock({ $0.call }) { call(event()) }
    }

    // MARK: Connections

    /// Counts an accepted connection.
    ///
    /// - Returns: Its number, from 1.
    func addConnection() -> Int {
        let number = change { record in
            record.openConnections += 1
            record.acceptedConnections += 1
            return record.acceptedConnections
        }
        report(.connection(number))
        return number
    }

    /// Counts a closed connection.
    func removeConnection() {
        change { $0.openConnections -= 1 }
    }

    /// Adds a handshake of TLS.
    func addHandshake(of connection: Int, _ result: Result<ReceivedHandshake, TestAuthority.Failure>) {
        switch result {
        case .success(let handshake):
            if keepsRequests { change { $0.handshakes.append(handshake) } }
            report(.handshake(handshake))
        case .failure(let failure):
            addFailedHandshake(failure.description)
            report(.failedHandshake(connection: connection, reason: failure.description))
        }
    }

    /// Adds the reason why a handshake has failed.
    func addFailedHandshake(_ reason: String) {
        if keepsRequests { change { $0.failedHandshakes.append(reason) } }
    }

    // MARK: Requests

    /// Adds a request whose head has arrived.
    ///
    /// - Parameter make: Makes the request from its number.
    /// - Returns: The request.
    func addRequest(_ make: (_ number: Int) -> ReceivedRequest) -> ReceivedRequest {
        let request = change { record in
            let request = make(record.startedRequests)
            record.startedRequests += 1
            record.unansweredRequests += 1
            if keepsRequests { record.requests.append(request) }
            return request
        }
        report(.request(number: request.number, method: request.method, target: request.target))
        return request
    }

    /// Sets how many bytes of a request's body have arrived so far.
    func setBodyBytesReceived(_ count: Int, of number: Int) {
        change { record in
            record.updateRequest(number) { $0.bodyBytesReceived = count }
        }
    }

    /// Sets a request's body, of which no more will arrive.
    func finishBody(of number: Int, body: Data, isComplete: Bool) {
        change { record in
            if isComplete { record.completeRequests += 1 }
            record.updateRequest(number) { request in
                request.body = body
                request.isComplete = isComplete
            }
        }
    }

    /// Counts bytes of a response's body that the operating system has taken.
    func addBytesSent(_ count: Int, of number: Int) {
        change { record in
            record.updateRequest(number) { $0.bytesSent += count }
        }
    }

    /// Sets how a request's response ended.
    func finishRequest(_ number: Int, _ ending: LoopbackServer.Ending) {
        change { record in
            record.unansweredRequests -= 1
            record.updateRequest(number) { $0.ending = ending }
        }
        report(.ending(number: number, ending))
    }

    /// Sets the head of a request's response.
    func setResponse(_ head: ResponseHead, of number: Int) {
        report(.response(number: number, status: head.status, reason: head.reason))
        guard keepsRequests else { return }
        change { record in
            record.updateRequest(number) { request in
                request.status = head.status
                request.responseFields = ReceivedFields(head.fields)
            }
        }
    }

    /// Removes the requests whose responses have ended, and returns them in the order in which they arrived.
    func takeEndedRequests() -> [ReceivedRequest] {
        change { record in
            let ended = record.requests.filter { $0.ending != nil }
            record.requests.removeAll { $0.ending != nil }
            return ended
        }
    }

    /// Adds the reason why a message was refused.
    func addBadRequest(_ reason: String) {
        change { $0.badRequests.append(reason) }
    }

    /// Drops the requests so far, pending ones included, and the handshakes.
    func forgetRequests() {
        change { record in
            record.requests = []
            record.handshakes = []
            record.failedHandshakes = []
            record.completeRequests = 0
            record.badRequests = []
        }
    }

    // MARK: WebSockets

    /// Adds an accepted WebSocket connection, of whose messages at most `limit` bytes are kept.
    ///
    /// - Returns: Its place among the WebSocket connections.
    func addWebSocket(_ webSocket: ReceivedWebSocket, limit: Int) -> Int {
        change { record in
            record.webSockets.append(webSocket)
            record.webSocketRooms.append(keepsRequests ? limit : 0)
            return record.webSockets.count - 1
        }
    }

    /// Adds a message that a client has sent.
    func addMessage(_ message: WebSocketMessage, toWebSocket index: Int) {
        change { record in
            guard record.webSockets.indices.contains(index) else { return }
            record.webSockets[index].messageCount += 1
            record.webSockets[index].byteCount += message.count
            guard keepsRequests, message.count <= record.webSocketRooms[index] else { return }
            record.webSocketRooms[index] -= message.count
            record.webSockets[index].messages.append(ReceivedWebSocket.Message(message))
        }
    }

    /// Changes what is recorded of a WebSocket connection.
    func updateWebSocket(_ index: Int, _ body: (inout ReceivedWebSocket) -> Void) {
        change { record in
            if record.webSockets.indices.contains(index) { body(&record.webSockets[index]) }
        }
    }

    // MARK: Streams

    /// Adds a connection without HTTP, of whose bytes at most `limit` are kept.
    ///
    /// - Returns: Its place among the connections without HTTP.
    func addStream(_ stream: ReceivedStream, limit: Int) -> Int {
        change { record in
            record.streams.append(stream)
            record.streamRooms.append(keepsRequests ? limit : 0)
            return record.streams.count - 1
        }
    }

    /// Adds bytes that a client has sent.
    func addBytes(_ bytes: UnsafeRawBufferPointer, toStream index: Int) {
        change { record in
            guard record.streams.indices.contains(index) else { return }
            record.streams[index].byteCount += bytes.count
            let part = bytes.prefix(record.streamRooms[index])
            record.streamRooms[index] -= part.count
            if !part.isEmpty { record.streams[index].pieces.append(Data(part)) }
        }
    }

    /// Changes what is recorded of a connection without HTTP.
    func updateStream(_ index: Int, _ body: (inout ReceivedStream) -> Void) {
        change { record in
            if record.streams.indices.contains(index) { body(&record.streams[index]) }
        }
    }
}

extension ReceivedWebSocket.Message {
    fileprivate init(_ message: WebSocketMessage) {
        switch message {
        case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): self = .data(Data(bytes))
        }
    }
}
