import Foundation
internal import PurlHTTP

/// Parses a connection's bytes as requests: a head, its body, the next head, and so on.
struct RequestReader {
    /// A part of a request.
    enum Event {
        /// A head, and how the end of its body is marked.
        case head(RequestHead, BodyFraming)
        /// Bytes of the body: where they are in the input.
        case body(Range<Int>)
        /// The request is complete.
        case end
    }

    private var headParser = RequestHeadParser()
    private var bodyDecoder: BodyDecoder?

    /// The next part of a request.
    ///
    /// - Parameters:
    ///   - input: The bytes that have arrived.
    ///   - offset: The first byte to parse; moved behind those that were used.
    /// - Returns: The part; `nil` when it takes more bytes.
    mutating func next(_ input: RawSpan, from offset: inout Int) throws(ParseError) -> Event? {
        guard bodyDecoder != nil else {
            guard let head = try headParser.parse(input, from: &offset) else { return nil }
            let framing = try BodyFraming.ofRequest(head)
            bodyDecoder = BodyDecoder(framing)
            return .head(head, framing)
        }
        switch try bodyDecoder?.decode(input, from: &offset) {
        case .bytes(let range):
            return .body(range)
        case .end:
            bodyDecoder = nil
            return .end
        case nil:
            return nil
        }
    }
}

/// A request whose response is not complete yet.
struct PendingRequest {
    let head: RequestHead
    /// What its route replies.
    let reply: ResolvedReply
    /// The request as it is recorded.
    var received: ReceivedRequest
    /// What takes the body of an upload as it arrives.
    var upload: UploadExchange?

    /// Whether the client allows another request on the connection after this one.
    var mayBeFollowed: Bool { received.isComplete && ConnectionReuse.isAllowed(after: head) }

    /// The request as the server received it, for ``Reply/echo``.
    var echo: Data {
        var text = "\(head.method) \(head.target) \(head.version)\r\n"
        for field in head.fields { text += "\(field.name): \(field.value)\r\n" }
        return Data((text + "\r\n").utf8) + received.body
    }

    /// Counts bytes of the body, and keeps them as long as no more than `limit` are kept in all.
    mutating func append(_ bytes: UnsafeRawBufferPointer, keepingAtMost limit: Int) {
        let kept = bytes.prefix(max(0, limit - received.body.count))
        if !kept.isEmpty { received.body.append(contentsOf: kept) }
        received.bodyBytesReceived += bytes.count
    }
}
