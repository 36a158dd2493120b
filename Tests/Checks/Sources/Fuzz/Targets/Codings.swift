import PurlHTTP

extension FuzzTarget {
    /// Coded bodies; the first byte chooses the coding. Any split and any limit give the same content.
    static let codings = FuzzTarget("codings") { bytes in
        var choices = Choices(bytes)
        let names = choices.one(of: [
            ["deflate"], ["gzip"], ["deflate", "gzip"], ["gzip", "gzip"], ["gzip", "identity"],
        ])
        let rest = choices.remainder()
        let whole = Decoded(names, [rest], limit: 65_536)
        var generator = Generator(seededBy: rest)
        for pieces in Pieces.ways(of: rest) {
            let small = whole.content.count < 2000 ? 1 : 700
            let limit = [small, small * 7, 40_000].randomElement(using: &generator) ?? small
            let other = Decoded(names, pieces, limit: limit)
            // The two stop at another place when there is more than they look at.
            guard !whole.isCut, !other.isCut else { continue }
            // Which of two codings finds fault first depends on how far each has come.
            if names.count == 1 { requireSame(other.error, whole.error, "any split and limit give the same error") }
            requireSame(other.error == nil, whole.error == nil, "any split and limit give an error, or none")
            if whole.error == nil { requireSame(other.content, whole.content, "and the same content") }
        }
    }

    /// The encoder: what it writes, in any pieces and flushed anywhere, is decoded to what it was given.
    static let deflating = FuzzTarget("deflating") { bytes in
        var choices = Choices(bytes)
        var encoder = DeflateEncoder(windowBits: choices.number(below: 20))
        let flushes = choices.byte()
        let rest = choices.remainder()
        var coded: [UInt8] = []
        for (index, piece) in Pieces.random(of: rest).enumerated() {
            encoder.encode(piece.span.bytes, into: &coded)
            if flushes & (1 << UInt8(index % 8)) != 0 { encoder.flush(into: &coded) }
        }
        encoder.finish(into: &coded)
        let decoded = Decoded(["deflate"], [coded], limit: 1 << 20)
        requireSame(decoded.error, nil, "what is encoded can be decoded")
        requireSame(decoded.content, rest, "and is the same")
    }
}

/// The result of decoding a body.
private struct Decoded {
    /// More content is not looked at: a few bytes can stand for millions.
    private static let most = 1 << 16

    var content: [UInt8] = []
    var error: DecodeError?
    var isCut = false

    init(_ codings: [String], _ pieces: [[UInt8]], limit: Int) {
        guard var decoder = ContentDecoder(codings: codings) else { fail("known codings are known") }
        do throws(DecodeError) {
            for piece in pieces {
                var position = 0
                repeat {
                    var output: [UInt8] = []
                    let input = piece.span.bytes.extracting(droppingFirst: position)
                    let taken = try decoder.decode(input, into: &output, limit: limit)
                    require(output.count <= limit, "no more comes than was asked for")
                    require(taken <= input.byteCount, "no more is taken than there is")
                    require(
                        taken > 0 || !output.isEmpty || input.isEmpty || decoder.stoppedAtLimit, "it makes progress")
                    content += output
                    position += taken
                    if content.count > Self.most {
                        isCut = true
                        return
                    }
                } while position < piece.count || decoder.stoppedAtLimit
            }
            try decoder.finish()
        } catch {
            self.error = error
        }
    }
}
