import PurlHTTP

/// Heads, one after another, at once and byte by byte.
enum HeadProbes {
    static func responses(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var parser = ResponseHeadParser()
        var offset = 0
        do throws(ParseError) {
            while let head = try parser.parse(bytes.span.bytes, from: &offset) {
                transcript.line("status", "\(head.status)", head.reason, head.version.description, "\(offset)")
                write(head.fields, to: &transcript)
                for method in [.get, .head, .connect] as [RequestMethod] { write(head, to: method, &transcript) }
                transcript.line("idle", ConnectionReuse.idleTimeout(head).map { "\($0)" } ?? "-")
            }
        } catch {
            transcript.line("error", error.description)
        }
        transcript.line("offset", "\(offset)")
        var slow = ResponseHeadParser()
        bytewise(bytes, &transcript) { (input, offset) throws(ParseError) in
            try slow.parse(input, from: &offset)?.status
        }
    }

    static func requests(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var parser = RequestHeadParser()
        var offset = 0
        do throws(ParseError) {
            while let head = try parser.parse(bytes.span.bytes, from: &offset) {
                transcript.line("request", head.method.name, head.target, head.version.description, "\(offset)")
                write(head.fields, to: &transcript)
                do throws(ParseError) {
                    transcript.line("framing", word(try BodyFraming.ofRequest(head)))
                } catch {
                    transcript.line("framing", error.description)
                }
                transcript.line("reuse", ConnectionReuse.isAllowed(after: head).word)
                var written: [UInt8] = []
                do throws(EncodeError) {
                    try head.encode(into: &written)
                    transcript.line("written", content: written)
                } catch {
                    transcript.line("unwritable", error.description)
                }
            }
        } catch {
            transcript.line("error", error.description)
        }
        transcript.line("offset", "\(offset)")
        var slow = RequestHeadParser()
        bytewise(bytes, &transcript) { (input, offset) throws(ParseError) in
            try slow.parse(input, from: &offset).map { $0.fields.count }
        }
    }

    private static func write(_ fields: HeaderFields, to transcript: inout Transcript) {
        for field in fields { transcript.line("field", field.name, field.value) }
    }

    private static func write(_ head: ResponseHead, to method: RequestMethod, _ transcript: inout Transcript) {
        do throws(ParseError) {
            let framing = try BodyFraming.ofResponse(head, to: method)
            let stays = ConnectionReuse.isAllowed(after: head, framing: framing, requestFields: [:])
            transcript.line("framing", method.name, word(framing), stays.word)
        } catch {
            transcript.line("framing", method.name, error.description)
        }
    }

    private static func bytewise(
        _ bytes: [UInt8], _ transcript: inout Transcript,
        _ parse: (RawSpan, inout Int) throws(ParseError) -> Int?
    ) {
        do throws(ParseError) {
            for (position, byte) in bytes.enumerated() {
                var offset = 0
                let piece = [byte]
                while let number = try parse(piece.span.bytes, &offset) {
                    transcript.line("bytewise", "\(number)", "\(position)")
                }
            }
        } catch {
            transcript.line("bytewise", error.description)
        }
    }

    static func word(_ framing: BodyFraming) -> String {
        switch framing {
        case .none: "none"
        case .length(let length): "length \(length)"
        case .chunked: "chunked"
        case .untilClose: "until close"
        }
    }
}

/// Bodies, at once and byte by byte.
enum BodyProbes {
    static func plain(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let framing: BodyFraming =
            switch choices.number(below: 3) {
            case 0: .untilClose
            case 1: .none
            default: .length(max(0, choices.integer()))
            }
        read(choices.remainder(), framing, &transcript)
    }

    /// With the usual limits, and with some that are met at once.
    static func chunkSizes(_ bytes: [UInt8], _ transcript: inout Transcript) {
        read(bytes, .chunked, &transcript)
        let limits = HeadLimits(maximumFields: 1, maximumTrailerBytes: 8, maximumChunkExtensionBytes: 4)
        read(bytes, .chunked, limits: limits, &transcript)
    }

    static func read(
        _ bytes: [UInt8], _ framing: BodyFraming, limits: HeadLimits = .standard, _ transcript: inout Transcript
    ) {
        transcript.line("framing", HeadProbes.word(framing))
        read([bytes], framing, limits, &transcript)
        read(bytes.map { [$0] }, framing, limits, &transcript)
    }

    private static func read(
        _ pieces: [[UInt8]], _ framing: BodyFraming, _ limits: HeadLimits, _ transcript: inout Transcript
    ) {
        var decoder = BodyDecoder(framing, limits: limits)
        var content: [UInt8] = []
        var left = 0
        do throws(ParseError) {
            for piece in pieces {
                var offset = 0
                while let event = try decoder.decode(piece.span.bytes, from: &offset) {
                    switch event {
                    case .bytes(let range): content += piece[range]
                    case .end(let trailers):
                        transcript.line("end", "\(content.count)")
                        for field in trailers { transcript.line("trailer", field.name, field.value) }
                    }
                }
                left += piece.count - offset
            }
            transcript.line("left", "\(left)", decoder.plainRemainder.word)
            if case .end = try decoder.endOfStream() { transcript.line("closed") }
        } catch {
            transcript.line("error", error.description)
        }
        transcript.line("content", content: content)
    }
}

/// Coded bodies.
enum CodingProbes {
    /// More content is not looked at: a few bytes can stand for millions.
    private static let most = 1 << 16

    static func decode(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        let codings = choices.one(of: [
            ["deflate"], ["gzip"], ["deflate", "gzip"], ["gzip", "gzip"], ["gzip", "identity"],
        ])
        let rest = choices.remainder()
        for limit in [65_536, 700] { decode(rest, codings, limit: limit, &transcript) }
    }

    private static func decode(_ bytes: [UInt8], _ codings: [String], limit: Int, _ transcript: inout Transcript) {
        guard var decoder = ContentDecoder(codings: codings) else { return transcript.line("unknown") }
        var content: [UInt8] = []
        var position = 0
        do throws(DecodeError) {
            repeat {
                var output: [UInt8] = []
                let input = bytes.span.bytes.extracting(droppingFirst: position)
                position += try decoder.decode(input, into: &output, limit: limit)
                content += output
                if content.count > most { break }
            } while position < bytes.count || decoder.stoppedAtLimit
            if content.count <= most { try decoder.finish() }
        } catch {
            transcript.line("error", error.description)
        }
        transcript.line("decoded", content: content)
        transcript.line("taken", "\(position)")
    }

    static func encode(_ bytes: [UInt8], _ transcript: inout Transcript) {
        var choices = Choices(bytes)
        var encoder = DeflateEncoder(windowBits: choices.number(below: 20))
        let flushes = choices.byte()
        let rest = choices.remainder()
        var coded: [UInt8] = []
        var position = 0
        while position < rest.count {
            let piece = Array(rest[position..<min(rest.count, position + 200)])
            encoder.encode(piece.span.bytes, into: &coded)
            if flushes & (1 << UInt8(position / 200 % 8)) != 0 { encoder.flush(into: &coded) }
            position += piece.count
        }
        encoder.finish(into: &coded)
        transcript.line("encoded", content: coded)
        decode(coded, ["deflate"], limit: 1 << 20, &transcript)
    }
}
