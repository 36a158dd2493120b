internal import PurlHTTP
internal import PurlIO

/// A response on its way in: what the parsers make of the bytes that arrive. The counterpart of ``OutgoingMessage``.
@NetworkActor
struct IncomingMessage {
    /// What a head means for the exchange.
    enum HeadMeaning {
        /// 1xx: the final response is still to come.
        case interim
        /// The final response; its body has this framing.
        case final(BodyFraming)
        /// After this response the connection speaks another protocol.
        case switching
        /// A response that the request did not ask for, or one too many.
        case unacceptable(ExchangeFailure)
    }

    private let method: RequestMethod
    /// The response may make the connection speak another protocol.
    private let mayUpgrade: Bool
    private let limits: HeadLimits
    private var parser: ResponseHeadParser
    private var decoder = BodyDecoder(.none)
    private var interimResponses = 0

    init(to method: RequestMethod, mayUpgrade: Bool, limits: HeadLimits) {
        self.method = method
        self.mayUpgrade = mayUpgrade
        self.limits = limits
        parser = ResponseHeadParser(limits: limits)
    }

    /// The head that the bytes from `offset` on complete; `nil` when it takes more of them.
    mutating func parseHead(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(ParseError) -> ResponseHead? {
        try parser.parse(bytes.bytes, from: &offset)
    }

    /// What the head means. What follows a final one is its body.
    mutating func take(_ head: ResponseHead) throws(ParseError) -> HeadMeaning {
        // A 101 is not a tunnel, nor is a success a switch.
        let isSwitch = method == .connect ? Tunnel.isOpen(after: head.status) : head.status == 101
        if mayUpgrade, isSwitch { return .switching }
        if head.status == 101 { return .unacceptable(.unaskedUpgrade) }
        if head.isInterim {
            interimResponses += 1
            return interimResponses > limits.maximumInterimResponses
                ? .unacceptable(.tooManyInterimResponses) : .interim
        }
        let framing = try BodyFraming.ofResponse(head, to: method)
        decoder = BodyDecoder(framing, limits: limits)
        return .final(framing)
    }

    /// The next piece of the body; `nil` when it takes more bytes.
    mutating func decodeBody(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) throws(ParseError) -> BodyEvent? {
        try decoder.decode(bytes.bytes, from: &offset)
    }

    /// The stream has ended, which ends a body without a length, and breaks any other.
    mutating func endOfStream() throws(ParseError) {
        _ = try decoder.endOfStream()
    }

    /// How many bytes of the body may be moved without being looked at; `nil` for chunks, and for a body until close.
    var plainRemainder: Int64? { decoder.plainRemainder }

    /// Bytes of the plain remainder have been moved.
    mutating func skip(_ count: Int) {
        decoder.skip(count)
    }
}
