import Foundation
internal import PurlHTTP
internal import PurlIO

/// How a transfer gets the body of its request ready, each time it is sent.
extension Transfer {
    /// Where the body of the request of the moment comes from.
    private var body: RequestBody {
        if let upload { return upload }
        if let data = request.httpBody { return .data(data) }
        return request.bodyStream.map { .stream($0) } ?? .none
    }

    /// The body, if it takes nothing to get it ready.
    var bodyAtHand: OutgoingBody? {
        switch body {
        case .none: OutgoingBody.none
        case .data(let data): .data(data)
        case .file, .stream, .streamFromDelegate: nil
        }
    }

    /// Goes on with `connect` when the body can be sent, or fails.
    func prepareBody() {
        switch body {
        case .none, .data:
            // It is at hand.
            connect()
        case .file(let url):
            phase = .preparing
            measure(url)
        case .stream(let stream):
            stream.isTaken ? askForStream() : send(stream)
        case .streamFromDelegate:
            askForStream()
        }
    }

    private func send(_ body: OutgoingBody) {
        outgoing = body
        connect()
    }

    /// RFC 9112 §6.2: the user's word counts as the length, if it is one. Any other body is measured here.
    private func send(_ stream: BodyStream) {
        let length = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64(digits: $0.utf8) }
        send(.stream(stream, length: length))
    }

    private func measure(_ url: URL) {
        DispatchQueue.global().async { [weak self] in
            let result = Result { () throws(BodyFailure) in try UploadFile(at: url) }
            NetworkActor.post { self?.prepared(result.map { .file($0) }) }
        }
    }

    private func prepared(_ result: Result<OutgoingBody, BodyFailure>) {
        guard case .preparing = phase else { return }
        switch result {
        case .success(let body): send(body)
        case .failure(let failure): fail(.body(failure))
        }
    }

    /// The delegate gives the stream. Where it has none, that of the request will do, if nothing has been read of it.
    private func askForStream() {
        phase = .preparing
        let own = [request.bodyStream, task.originalRequest?.bodyStream].compactMap { $0 }.first { !$0.isTaken }
        guard hearsOfTask else { return received(own) }
        askStream { [weak self] stream in self?.received(stream ?? own) }
    }

    private func received(_ stream: BodyStream?) {
        guard case .preparing = phase else { return }
        guard let stream else { return fail(.body(.noStream)) }
        send(stream)
    }

    /// The body can be sent once more: it is there, nothing of it has been read, or there is somebody to ask for it.
    var canSendBodyAgain: Bool {
        switch body {
        case .none, .data, .file: true
        case .stream(let stream): !stream.isTaken
        case .streamFromDelegate: hearsOfTask
        }
    }
}
