import PurlHTTP

/// What a client has to make of the bytes that came after its request: read whole, by the parsers alone.
struct ExpectedResponse {
    let head: ResponseHead
    /// Without transfer and content codings.
    let content: [UInt8]

    /// `nil` when the bytes are no whole response.
    init?(_ exchange: ScriptedServer.Exchange) {
        guard let departure = Departure(exchange), departure.head.status != 101 else { return nil }
        head = departure.head
        let bytes = departure.rest
        var offset = 0
        guard let framing = try? BodyFraming.ofResponse(head, to: exchange.request.method) else { return nil }
        var decoder = BodyDecoder(framing)
        var coded: [UInt8] = []
        do {
            while let event = try decoder.decode(bytes.span.bytes, from: &offset) {
                if case .bytes(let range) = event { coded += bytes[range] }
            }
            if !decoder.isComplete {
                guard exchange.isEnded else { return nil }
                _ = try decoder.endOfStream()
            }
        } catch {
            return nil
        }
        guard let content = Self.decoded(coded, head) else { return nil }
        self.content = content
    }

    private static func decoded(_ coded: [UInt8], _ head: ResponseHead) -> [UInt8]? {
        guard head.status != 206, head.fields.contains(.contentEncoding),
            var decoder = ContentDecoder(codings: head.fields.listElements(of: .contentEncoding)), !decoder.isIdentity
        else { return coded }
        var content: [UInt8] = []
        guard (try? decoder.decode(coded.span.bytes, into: &content, limit: 1 << 26)) != nil,
            (try? decoder.finish()) != nil
        else { return nil }
        return content
    }
}

/// The head of a response that is no interim one, and what comes after it: there a connection leaves HTTP, if its client
/// wants to.
struct Departure {
    let head: ResponseHead
    /// What was sent after it.
    let rest: [UInt8]

    /// `nil` when no response has come, or none that could be read.
    init?(_ exchange: ScriptedServer.Exchange) {
        let bytes = exchange.answer
        var parser = ResponseHeadParser()
        var offset = 0
        var interim = 0
        while let head = try? parser.parse(bytes.span.bytes, from: &offset) {
            if head.isInterim, head.status != 101 {
                interim += 1
                guard interim <= HeadLimits.standard.maximumInterimResponses else { return nil }
                continue
            }
            self.head = head
            rest = Array(bytes[offset...])
            return
        }
        return nil
    }
}
