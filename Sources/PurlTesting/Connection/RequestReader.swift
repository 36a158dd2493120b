internal import PurlHTTP

/// Makes requests of bytes: one head after the other, each followed by its body.
struct RequestReader {
    /// One thing that was read.
    enum Event {
        /// A head, and how its body ends.
        case head(RequestHead, BodyFraming)
        /// Bytes of body: where they are in the input.
        case body(Range<Int>)
        /// The request is complete.
        case end
    }

    private var headParser = RequestHeadParser()
    private var bodyDecoder: BodyDecoder?

    /// Takes bytes of `input` from `offset` on, moving it; nil when they are used up.
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
