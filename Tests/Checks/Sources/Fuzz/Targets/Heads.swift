import PurlHTTP

extension FuzzTarget {
    /// Heads of responses, one after another.
    static let responseHeads = FuzzTarget("response-heads") { bytes in
        Heads.roundTrips(bytes, read: Heads.responses) { (head, written) throws(EncodeError) in
            try head.encode(into: &written)
        } look: { head in
            Heads.look(at: head)
        }
    }

    /// The same for requests.
    static let requestHeads = FuzzTarget("request-heads") { bytes in
        Heads.roundTrips(bytes, read: Heads.requests) { (head, written) throws(EncodeError) in
            try head.encode(into: &written)
        } look: { head in
            if case .untilClose? = try? BodyFraming.ofRequest(head) {
                fail("a request's body never ends with the stream")
            }
        }
    }
}

/// Reading whole streams of heads.
private enum Heads {
    struct Outcome<Head: Equatable>: Equatable {
        var found: [Head] = []
        var error: ParseError?
    }

    /// Any split gives the same, and what was read can be written and is read as the same again.
    static func roundTrips<Head: Equatable>(
        _ bytes: [UInt8], read: ([[UInt8]]) -> Outcome<Head>,
        write: (Head, inout [UInt8]) throws(EncodeError) -> Void, look: (Head) -> Void
    ) {
        let whole = read([bytes])
        for pieces in Pieces.ways(of: bytes) { requireSame(read(pieces), whole, "any split gives the same") }
        for head in whole.found {
            var written: [UInt8] = []
            do {
                try write(head, &written)
            } catch {
                fail("a head that was read can be written: \(error)")
            }
            requireSame(read([written]).found, [head], "written and read again it is the same")
            look(head)
        }
    }

    static func responses(_ pieces: [[UInt8]]) -> Outcome<ResponseHead> {
        var parser = ResponseHeadParser()
        return all(pieces) { (input, offset) throws(ParseError) in try parser.parse(input, from: &offset) }
    }

    static func requests(_ pieces: [[UInt8]]) -> Outcome<RequestHead> {
        var parser = RequestHeadParser()
        return all(pieces) { (input, offset) throws(ParseError) in try parser.parse(input, from: &offset) }
    }

    private static func all<Head: Equatable>(
        _ pieces: [[UInt8]], _ parse: (RawSpan, inout Int) throws(ParseError) -> Head?
    ) -> Outcome<Head> {
        var outcome = Outcome<Head>()
        do throws(ParseError) {
            for piece in pieces {
                var offset = 0
                while let head = try parse(piece.span.bytes, &offset) { outcome.found.append(head) }
                require(offset == piece.count, "what is not an end takes all of its input")
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    /// What follows from a head: where its body ends, and whether the connection may be used again.
    static func look(at head: ResponseHead) {
        for method in [.get, .head, .connect] as [RequestMethod] {
            guard let framing = try? BodyFraming.ofResponse(head, to: method) else { continue }
            if head.fields.contains(.transferEncoding), head.fields.contains(.contentLength) {
                require(framing == .none, "two lengths are an error")
            }
            if case .length(let length) = framing { require(length >= 0, "a length is not negative") }
            if method == .head || head.status == 204 || head.status == 304 {
                require(framing == .none, "there is no body")
            }
            let mayStay = ConnectionReuse.isAllowed(after: head, framing: framing, requestFields: [:])
            if framing == .untilClose { require(!mayStay, "a body that ends with the connection ends it") }
        }
        if let seconds = ConnectionReuse.idleTimeout(head) { require(seconds >= 0, "an idle time is not negative") }
        for field in head.fields {
            require(!field.name.isEmpty, "a field has a name")
            require(
                field.value.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F }, "a value holds no controls")
        }
    }
}
