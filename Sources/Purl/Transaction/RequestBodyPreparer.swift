import Foundation
internal import PurlConnections
internal import PurlHTTP
internal import PurlIO

/// Prepares a request's body each time it is sent: data as it is, a file by its length, a stream or a sequence that has
/// not been read from, or a stream that the delegate gives.
@NetworkActor
struct RequestBodyPreparer {
    let request: URLRequest
    /// The body of an upload task, in place of the request's.
    let upload: RequestBody?
    let calls: DelegateCalls

    private var source: RequestBody {
        // RFC 9110 §9.3.2: a client should not send content in a HEAD request.
        if request.method == .head { return .none }
        if let upload { return upload }
        if let data = request.httpBody { return .data(data) }
        return request.bodyStream.map { .stream($0) } ?? .none
    }

    /// The body, if it can be sent at once; otherwise the transaction receives it in `takeBody`.
    func prepare(for transaction: Transaction) -> OutgoingBody? {
        prepare(source, for: transaction)
    }

    private func prepare(_ source: RequestBody, for transaction: Transaction) -> OutgoingBody? {
        switch source {
        case .none:
            return OutgoingBody.none
        case .data(let data):
            return .data(data)
        case .file(let url):
            Worker.shared.run(on: .files) {
                Result { () throws(BodyFailure) in
                    guard url.isFileURL else { throw .notAFile("\(url)") }
                    return OutgoingBody.file(try UploadFile(at: url.path))
                }
            } then: { [weak transaction] result in
                transaction?.takeBody(result)
            }
            return nil
        case .stream(let stream) where !stream.isTaken:
            return body(of: stream)
        case .sequence(let sequence) where !sequence.isTaken:
            return .sequence(sequence, length: promisedLength)
        case .stream, .sequence, .streamFromDelegate:
            askForStream(for: transaction)
            return nil
        case .part(let whole, let part, let sent):
            return prepare(part, of: whole, sent, for: transaction)
        }
    }

    /// - Parameter sent: What the file was when its beginning was sent.
    private func prepare(
        _ part: UploadPart, of whole: RequestBody, _ sent: SentFile?, for transaction: Transaction
    ) -> OutgoingBody? {
        switch whole {
        case .none:
            return OutgoingBody.none
        case .data(let data):
            let start = data.index(data.startIndex, offsetBy: Int(part.offset))
            return .data(data[start...].prefix(part.length.map { Int($0) } ?? data.count))
        case .file(let url):
            guard let sent else { return prepare(whole, for: transaction) }
            Worker.shared.run(on: .files) {
                Result { () throws(BodyFailure) in
                    OutgoingBody.file(try UploadFile(part, ofFileAt: url.path, sent: sent))
                }
            } then: { [weak transaction] result in
                transaction?.takeBody(result)
            }
            return nil
        case .stream, .sequence, .streamFromDelegate:
            askForStream(of: part, for: transaction)
            return nil
        case .part(let whole, _, _):
            return prepare(part, of: whole, sent, for: transaction)
        }
    }

    /// Whether the body can be sent once more: it is in memory or a file, none of its stream or sequence has been read,
    /// or a delegate can be asked for another stream.
    var canPrepareAgain: Bool {
        switch source {
        case .none, .data, .file: true
        case .stream(let stream): !stream.isTaken
        case .sequence(let sequence): !sequence.isTaken
        case .streamFromDelegate: calls.hasTaskDelegate
        case .part(let whole, _, _): whole.isStored || calls.hasTaskDelegate
        }
    }

    /// The same, or the delegate may give another stream in place of the request's.
    var mayPrepareAgain: Bool { canPrepareAgain || calls.hasTaskDelegate }

    /// RFC 9112 §6.2: the length that the user has set for a stream or a sequence, if it is one. The length of any
    /// other body is measured.
    private var promisedLength: Int64? {
        request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64(digits: $0.utf8) }
    }

    private func body(of stream: BodyStream) -> OutgoingBody { .stream(stream, length: promisedLength) }

    /// The delegate gives the stream. Where it has none, the request's is used, if nothing has been read of it.
    private func askForStream(for transaction: Transaction) {
        let own = [request.bodyStream, calls.task.originalRequest?.bodyStream].lazy
            .compactMap { $0 }.first { !$0.isTaken }
        guard calls.hasTaskDelegate else { return take(own, for: transaction) }
        calls.askForBodyStream { [weak transaction] stream in
            guard let transaction else { return }
            take(stream ?? own, for: transaction)
        }
    }

    /// The delegate gives a stream that begins where the part does, or one from which what comes before it is skipped.
    private func askForStream(of part: UploadPart, for transaction: Transaction) {
        let take: @Sendable @NetworkActor (BodyStream?) -> Void = { [weak transaction] stream in
            transaction?
                .takeBody(stream.map { .success(.stream($0, length: part.length)) } ?? .failure(.noStream))
        }
        guard calls.hasTaskDelegate else { return take(nil) }
        calls.askForBodyStream(from: part.offset) { [calls, weak transaction] stream in
            if let stream { return take(stream) }
            guard let transaction, transaction.awaitsLoader else { return }
            calls.askForBodyStream { take($0.map { BodyStream($0.stream, skipping: part.offset) }) }
        }
    }

    private func take(_ stream: BodyStream?, for transaction: Transaction) {
        transaction.takeBody(stream.map { .success(body(of: $0)) } ?? .failure(.noStream))
    }
}
