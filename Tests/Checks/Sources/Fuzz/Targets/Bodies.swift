import PurlHTTP

extension FuzzTarget {
    /// The chunked coding: any split gives the same, and the content written in chunks anew is read as the same.
    static let chunkedBody = FuzzTarget("chunked-body") { bytes in
        let whole = Bodies.Outcome(.chunked, [bytes])
        for pieces in Pieces.ways(of: bytes) { whole.requireLike(.chunked, pieces) }
        guard let trailers = whole.trailers else { return }
        var written: [UInt8] = []
        for piece in Pieces.random(of: whole.content) { ChunkEncoder.appendChunk(piece.span.bytes, to: &written) }
        do {
            try ChunkEncoder.appendEnd(trailers: trailers, to: &written)
        } catch {
            fail("trailers that were read can be written: \(error)")
        }
        let again = Bodies.Outcome(.chunked, [written])
        requireSame(again.content, whole.content, "content written in chunks is read as the same")
        requireSame(again.trailers, trailers, "trailers written are read as the same")
        requireSame(again.leftOver, 0, "nothing is left over")
    }

    /// The trailer section, and nothing before it.
    static let trailers = FuzzTarget("trailers") { bytes in
        let bytes = Array("0\r\n".utf8) + bytes
        let whole = Bodies.Outcome(.chunked, [bytes])
        for pieces in Pieces.ways(of: bytes) { whole.requireLike(.chunked, pieces) }
        requireSame(whole.content, [], "there is no content")
        require(bytes.count <= 16_384 + 3 || whole.trailers == nil || whole.leftOver > 0, "the limit holds")
    }

    /// Chunk size lines, one after another, each with its number of bytes where that is few.
    static let chunkSizes = FuzzTarget("chunk-sizes") { bytes in
        let whole = Bodies.Outcome(.chunked, [bytes])
        for pieces in Pieces.ways(of: bytes) { whole.requireLike(.chunked, pieces) }
        // The same with limits that are met at once.
        let limits = HeadLimits(maximumFields: 1, maximumTrailerBytes: 8, maximumChunkExtensionBytes: 4)
        let strict = Bodies.Outcome(.chunked, [bytes], limits)
        for pieces in Pieces.ways(of: bytes) { strict.requireLike(.chunked, pieces, limits) }
        if strict.trailers != nil { requireSame(strict.content, whole.content, "a limit changes no content") }
    }

    /// Bodies of known length and such that end with the stream; the first bytes choose.
    static let plainBody = FuzzTarget("plain-body") { bytes in
        var choices = Choices(bytes)
        let framing: BodyFraming = choices.one(of: [.untilClose, .none, .length(max(0, choices.integer()))])
        let rest = choices.remainder()
        let whole = Bodies.Outcome(framing, [rest])
        for pieces in Pieces.ways(of: rest) { whole.requireLike(framing, pieces) }
        switch framing {
        case .none: requireSame(whole.leftOver, rest.count, "without a body nothing is taken")
        case .length(let length):
            requireSame(whole.content, Array(rest.prefix(Int(clamping: length))), "the content has the length")
            requireSame(whole.trailers != nil, length <= Int64(rest.count), "it ends when all of it has come")
        case .untilClose: requireSame(whole.content, rest, "everything is content")
        case .chunked: break
        }
    }
}

/// Reading whole bodies.
private enum Bodies {
    struct Outcome {
        var content: [UInt8] = []
        /// Once the body is complete.
        var trailers: HeaderFields?
        var leftOver = 0
        var error: ParseError?
        var endsWithStream = false

        init(_ framing: BodyFraming, _ pieces: [[UInt8]], _ limits: HeadLimits = .standard) {
            var decoder = BodyDecoder(framing, limits: limits)
            do throws(ParseError) {
                for piece in pieces {
                    var offset = 0
                    while let event = try decoder.decode(piece.span.bytes, from: &offset) {
                        switch event {
                        case .bytes(let range):
                            require(!range.isEmpty && range.upperBound <= piece.count, "an event lies in the input")
                            content += piece[range]
                        case .end(let found):
                            require(trailers == nil, "a body ends once")
                            trailers = found
                        }
                    }
                    require(decoder.isComplete || offset == piece.count, "what is open takes all of its input")
                    leftOver += piece.count - offset
                }
                // A body of no bytes ends without any.
                if pieces.isEmpty {
                    var offset = 0
                    if case .end(let found)? = try decoder.decode([UInt8]().span.bytes, from: &offset) {
                        trailers = found
                    }
                }
            } catch {
                self.error = error
                return
            }
            require(decoder.isComplete == (trailers != nil), "the end is reported when it is known")
            endsWithStream = (try? decoder.endOfStream()) != nil
        }

        func requireLike(_ framing: BodyFraming, _ pieces: [[UInt8]], _ limits: HeadLimits = .standard) {
            let other = Outcome(framing, pieces, limits)
            requireSame(other.content, content, "any split gives the same content")
            requireSame(other.error, error, "any split gives the same error")
            requireSame(other.trailers, trailers, "any split gives the same trailers")
            requireSame(other.endsWithStream, endsWithStream, "any split ends with the stream, or none")
            // After an error what is left over does not matter.
            if error == nil { requireSame(other.leftOver, leftOver, "any split leaves the same") }
        }
    }
}
