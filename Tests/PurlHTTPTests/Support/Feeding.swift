import PurlHTTP

/// What a parser made of its whole input: what it found, in order, and the error that ended it.
struct Outcome<Found: Equatable & Sendable>: Equatable, Sendable {
    var found: [Found] = []
    var error: ParseError?
}

/// All ways to hand over bytes that every parser must treat alike: whole, byte by byte, and cut once at every place.
func everySplit(of bytes: [UInt8]) -> [[[UInt8]]] {
    [[bytes], bytes.map { [$0] }] + (0...bytes.count).map { [Array(bytes[..<$0]), Array(bytes[$0...])] }
}

extension String {
    /// The bytes of the text.
    var bytes: [UInt8] { Array(utf8) }
}

/// Parses all heads in the pieces.
func responseHeads(_ pieces: [[UInt8]], limits: HeadLimits = .standard) -> Outcome<ResponseHead> {
    var parser = ResponseHeadParser(limits: limits)
    return heads(pieces) { (input, offset) throws(ParseError) in try parser.parse(input, from: &offset) }
}

/// Parses all heads in the pieces.
func requestHeads(_ pieces: [[UInt8]], limits: HeadLimits = .standard) -> Outcome<RequestHead> {
    var parser = RequestHeadParser(limits: limits)
    return heads(pieces) { (input, offset) throws(ParseError) in try parser.parse(input, from: &offset) }
}

private func heads<Head: Equatable & Sendable>(
    _ pieces: [[UInt8]], _ parse: (RawSpan, inout Int) throws(ParseError) -> Head?
) -> Outcome<Head> {
    var outcome = Outcome<Head>()
    do throws(ParseError) {
        for piece in pieces {
            var offset = 0
            while let head = try parse(piece.span.bytes, &offset) { outcome.found.append(head) }
        }
    } catch {
        outcome.error = error
    }
    return outcome
}

/// A body, its trailers once it is complete, and how many bytes after it were left alone.
struct Body: Equatable, Sendable {
    var content = ""
    var trailers: HeaderFields?
    var leftOver = 0
}

/// Decodes the body in the pieces; `atEnd`: the peer closes after them.
func body(
    _ framing: BodyFraming, _ pieces: [[UInt8]], limits: HeadLimits = .standard, atEnd: Bool = false
) -> Outcome<Body> {
    var decoder = BodyDecoder(framing, limits: limits)
    var content: [UInt8] = []
    var result = Body()
    var outcome = Outcome<Body>()
    do throws(ParseError) {
        for piece in pieces {
            var offset = 0
            while let event = try decoder.decode(piece.span.bytes, from: &offset) {
                switch event {
                case .bytes(let range): content += piece[range]
                case .end(let trailers): result.trailers = trailers
                }
            }
            result.leftOver += piece.count - offset
        }
        if atEnd, case .end(let trailers) = try decoder.endOfStream() { result.trailers = trailers }
    } catch {
        outcome.error = error
    }
    result.content = String(decoding: content, as: UTF8.self)
    outcome.found = [result]
    return outcome
}
