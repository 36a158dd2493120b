public import Foundation
internal import PurlHTTP
internal import PurlIO

extension Conversation {
    /// A conversation that is being recorded. Any thread.
    public final class Recording: Sendable {
        private let upstream: Endpoint
        private let exchanges = Monitor<[Conversation.Exchange]>([])

        fileprivate init(_ upstream: Endpoint) {
            self.upstream = upstream
        }

        /// The conversation so far: its exchanges, in the order in which they ended. A client has its response only when the
        /// exchange is in it.
        public var conversation: Conversation { Conversation(exchanges.value) }

        /// Sends a request to the upstream server, and records its response.
        fileprivate func forward(_ request: ReceivedRequest) async throws -> Reply {
            let message = ForwardedRequest(request, to: upstream)
            let (response, ending) = try await UpstreamExchange.response(to: message, from: upstream)
            exchanges.update {
                $0.append(Conversation.Exchange(request: message.recorded, answer: response, ending: ending))
            }
            return .raw([response], then: ending)
        }
    }
}

extension LoopbackServer {
    /// Forwards requests without a route to another server, and records what both send.
    ///
    /// ```swift
    /// let recording = server.record(forwardingTo: URL(string: "http://staging.example")!)
    /// // … run the code under test against server.url …
    /// try recording.conversation.write(to: fixture)
    /// ```
    ///
    /// Each request gets its own connection, which is closed after it. Passwords and cookies are recorded like everything
    /// else: read the text before you share it.
    ///
    /// - Parameter url: The other server: `http`, its name or address, and its port. A path is ignored.
    /// - Returns: The recording.
    public func record(forwardingTo url: URL) -> Conversation.Recording {
        let port = url.port.flatMap { UInt16(exactly: $0) } ?? 80
        let recording = Conversation.Recording(.host(url.host(percentEncoded: false) ?? "", port: port))
        fallback(.computed { try await recording.forward($0) })
        return recording
    }
}

/// A request that is sent to the upstream server.
private struct ForwardedRequest: Sendable {
    let method: RequestMethod
    /// The request as it is sent.
    let bytes: [UInt8]
    /// The request as it is recorded: as the client sent it, without its own framing of the body.
    let recorded: Data

    init(_ request: ReceivedRequest, to upstream: Endpoint) {
        method = RequestMethod(request.method)
        let framing: Set<String> = ["connection", "transfer-encoding", "content-length", "expect", "host"]
        let fields = request.fields.filter { !framing.contains($0.name.lowercased()) }
        var head = "\(request.method) \(request.target) HTTP/1.1\r\n"
        let host = request.fields["Host"].map { "Host: \($0)\r\n" } ?? ""
        var rest = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        if !request.body.isEmpty { rest += "Content-Length: \(request.body.count)\r\n" }
        recorded = Data((head + host + rest + "\r\n").utf8) + request.body
        head += "Host: \(upstream)\r\nConnection: close\r\n" + rest + "\r\n"
        bytes = [UInt8](head.utf8) + request.body
    }
}

/// One request to the upstream server, and its response byte by byte.
@NetworkActor
private final class UpstreamExchange: TransportHandler {
    typealias RawResponse = (bytes: Data, ending: Reply.RawEnding)

    private let request: ForwardedRequest
    private var completion: ((Result<RawResponse, any Error>) -> Void)?
    private var dial: (any Dial)?
    private var transport: (any LoopTransport)?
    private var sent = 0
    private var received: [UInt8] = []
    private var examined = 0
    private var parser = ResponseHeadParser()
    private var body: BodyDecoder?

    /// The response to a request. One that breaks off is a response, too.
    ///
    /// - Throws: Why the server cannot be reached, or `CancellationError`.
    nonisolated static func response(
        to request: ForwardedRequest, from endpoint: Endpoint
    ) async throws -> RawResponse {
        let exchange = await UpstreamExchange(request)
        return try await withTaskCancellationHandler {
            try await exchange.response(from: endpoint)
        } onCancel: {
            NetworkActor.post { exchange.finish(.failure(CancellationError())) }
        }
    }

    private init(_ request: ForwardedRequest) {
        self.request = request
    }

    private func response(from endpoint: Endpoint) async throws -> RawResponse {
        try await withCheckedThrowingContinuation { continuation in
            completion = { continuation.resume(with: $0) }
            dial = NetworkDial(to: endpoint) { self.connected($0) }
        }
    }

    private func connected(_ result: Result<any LoopTransport, DialError>) {
        dial = nil
        switch result {
        case .success(let transport):
            self.transport = transport
            transport.handler = self
            transport.interest = [.read, .write]
        case .failure(let error):
            finish(.failure(error))
        }
    }

    private func finish(_ result: Result<RawResponse, any Error>) {
        dial?.cancel()
        transport?.close()
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    func transportIsWritable(_ transport: any LoopTransport) {
        let rest = sent..<request.bytes.count
        // If the server has left, what it sent before can still be read.
        sent += (try? transport.send(request.bytes, rest)) ?? rest.count
        if sent == request.bytes.count { transport.interest = .read }
    }

    func transportIsReadable(_ transport: any LoopTransport) {
        do throws(SystemError) {
            guard let bytes = try transport.receive() else { return }
            received.append(contentsOf: bytes)
            if bytes.isEmpty || isComplete() { finish(.success((Data(received), .close))) }
        } catch {
            finish(.success((Data(received), .reset)))
        }
    }

    /// Whether the response is complete. One that is not HTTP is complete at the end of the stream.
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
