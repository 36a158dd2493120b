import Foundation
internal import PurlHTTP
internal import PurlIO

/// One request to another server, and its answer byte by byte.
@NetworkActor
final class Upstream: TransportHandler {
    typealias Answer = (bytes: Data, ending: Reply.RawEnding)

    private let request: ForwardedRequest
    private var completion: ((Result<Answer, any Error>) -> Void)?
    private var dial: Dial?
    private var socket: StreamSocket?
    private var sent = 0
    private var received: [UInt8] = []
    private var examined = 0
    private var parser = ResponseHeadParser()
    private var body: BodyDecoder?

    /// - Throws: Why there is no answer. One that breaks off is an answer.
    nonisolated static func answer(to request: ForwardedRequest, from endpoint: Endpoint) async throws -> Answer {
        let upstream = await Upstream(request)
        return try await withTaskCancellationHandler {
            try await upstream.answer(from: endpoint)
        } onCancel: {
            NetworkActor.post { upstream.finish(.failure(CancellationError())) }
        }
    }

    private init(_ request: ForwardedRequest) {
        self.request = request
    }

    private func answer(from endpoint: Endpoint) async throws -> Answer {
        try await withCheckedThrowingContinuation { continuation in
            completion = { continuation.resume(with: $0) }
            dial = Dial(to: endpoint) { self.connected($0) }
        }
    }

    private func connected(_ result: Result<StreamSocket, DialError>) {
        dial = nil
        switch result {
        case .success(let socket):
            self.socket = socket
            socket.handler = self
            socket.interest = [.read, .write]
        case .failure(let error):
            finish(.failure(error))
        }
    }

    private func finish(_ result: Result<Answer, any Error>) {
        dial?.cancel()
        socket?.close()
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    func transportIsWritable(_ transport: any Transport) {
        let rest = sent..<request.bytes.count
        // If the server has gone away, reading tells what it said before.
        sent += (try? transport.send(request.bytes, rest)) ?? rest.count
        if sent == request.bytes.count { transport.interest = .read }
    }

    func transportIsReadable(_ transport: any Transport) {
        do throws(SystemError) {
            guard let bytes = try transport.receive() else { return }
            received.append(contentsOf: bytes)
            if bytes.isEmpty || isComplete() { finish(.success((Data(received), .close))) }
        } catch {
            finish(.success((Data(received), .reset)))
        }
    }

    /// Whether the answer is all there. What is no HTTP is an answer, too, until its end.
    private func isComplete() -> Bool {
        let received = received
        do throws(ParseError) {
            while body == nil {
                guard let head = try parser.parse(received.span.bytes, from: &examined) else { return false }
                if !head.isInterim { body = BodyDecoder(try BodyFraming.ofResponse(head, to: request.method)) }
            }
            while let event = try body?.decode(received.span.bytes, from: &examined) {
                if case .end = event { return true }
            }
            return false
        } catch {
            return false
        }
    }
}
