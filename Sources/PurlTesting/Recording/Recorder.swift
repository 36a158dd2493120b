import Foundation
internal import PurlHTTP

/// Keeps a server's ``LoopbackServer/Record``. Any thread.
final class Recorder: Sendable {
    let record = Watched(LoopbackServer.Record())

    private let keepsRequests: Bool

    /// With `keepsRequests` false only the counts are kept.
    init(keepsRequests: Bool) {
        self.keepsRequests = keepsRequests
    }

    /// A connection was accepted. Returns its number, from 1.
    func connectionOpened() -> Int {
        change { record in
            record.openConnections += 1
            record.acceptedConnections += 1
            return record.acceptedConnections
        }
    }

    /// A connection is gone.
    func connectionClosed() {
        change { $0.openConnections -= 1 }
    }

    /// The head of a request has arrived. Returns the request as it was filed; `make` gets its number.
    func begin(_ make: (_ number: Int) -> ReceivedRequest) -> ReceivedRequest {
        change { record in
            let request = make(record.startedRequests)
            record.startedRequests += 1
            record.unansweredRequests += 1
            if keepsRequests { record.requests.append(request) }
            return request
        }
    }

    /// `count` bytes of body in all have arrived so far.
    func bodyProgress(of number: Int, count: Int) {
        changeRequest(number) { $0.bodyBytesReceived = count }
    }

    /// The body is as complete as it will get.
    func bodyEnded(of number: Int, body: Data, isComplete: Bool) {
        change { record in
            if isComplete { record.completeRequests += 1 }
            record.withRequest(number) { request in
                request.body = body
                request.isComplete = isComplete
            }
        }
    }

    /// The operating system took `count` more bytes of the answer's body.
    func sent(_ count: Int, to number: Int) {
        changeRequest(number) { $0.bytesSent += count }
    }

    /// The answer is over.
    func end(_ number: Int, _ ending: Ending) {
        change { record in
            record.unansweredRequests -= 1
            record.withRequest(number) { $0.ending = ending }
        }
    }

    /// A WebSocket connection was accepted. Returns its place.
    func webSocketOpened(_ webSocket: ReceivedWebSocket, limit: Int) -> Int {
        change { record in
            record.webSockets.append(webSocket)
            record.webSocketRooms.append(keepsRequests ? limit : 0)
            return record.webSockets.count - 1
        }
    }

    /// A client sent a message.
    func webSocketReceived(_ message: WebSocketMessage, on place: Int) {
        change { record in
            guard record.webSockets.indices.contains(place) else { return }
            record.webSockets[place].messageCount += 1
            record.webSockets[place].byteCount += message.count
            guard keepsRequests, message.count <= record.webSocketRooms[place] else { return }
            record.webSocketRooms[place] -= message.count
            record.webSockets[place].messages.append(ReceivedWebSocket.Message(message))
        }
    }

    /// Something else happened on a WebSocket connection.
    func changeWebSocket(_ place: Int, _ body: (inout ReceivedWebSocket) -> Void) {
        change { record in
            if record.webSockets.indices.contains(place) { body(&record.webSockets[place]) }
        }
    }

    /// A connection speaks no HTTP. Returns its place.
    func streamOpened(_ stream: ReceivedStream, limit: Int) -> Int {
        change { record in
            record.streams.append(stream)
            record.streamRooms.append(keepsRequests ? limit : 0)
            return record.streams.count - 1
        }
    }

    /// A client sent bytes.
    func streamReceived(_ bytes: UnsafeRawBufferPointer, on place: Int) {
        change { record in
            guard record.streams.indices.contains(place) else { return }
            record.streams[place].byteCount += bytes.count
            let part = bytes.prefix(record.streamRooms[place])
            record.streamRooms[place] -= part.count
            if !part.isEmpty { record.streams[place].pieces.append(Data(part)) }
        }
    }

    /// Something else happened on a connection without HTTP.
    func changeStream(_ place: Int, _ body: (inout ReceivedStream) -> Void) {
        change { record in
            if record.streams.indices.contains(place) { body(&record.streams[place]) }
        }
    }

    /// A message was refused.
    func refused(_ reason: String) {
        change { $0.badRequests.append(reason) }
    }

    /// Drops the requests so far. Those under way are no longer followed.
    func forget() {
        change { record in
            record.requests = []
            record.firstNumber = record.startedRequests
            record.completeRequests = 0
            record.badRequests = []
        }
    }

    private func changeRequest(_ number: Int, _ body: (inout ReceivedRequest) -> Void) {
        change { $0.withRequest(number, body) }
    }

    @discardableResult
    private func change<Result: Sendable>(_ body: (inout LoopbackServer.Record) -> Result) -> Result {
        record.update { record in
            record.version &+= 1
            return body(&record)
        }
    }
}

extension LoopbackServer.Record {
    /// Changes the request with this number, if it is kept.
    fileprivate mutating func withRequest(_ number: Int, _ body: (inout ReceivedRequest) -> Void) {
        let position = number - firstNumber
        if requests.indices.contains(position) { body(&requests[position]) }
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
