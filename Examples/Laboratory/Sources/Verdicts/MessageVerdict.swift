import PurlHTTP

/// What the client makes of the bytes of a response.
///
/// The input is a line of circumstances (see ``Circumstances``), a line feed, and the bytes. The verdict has one line for each
/// fact, with tabs between its words:
/// ```
/// part    KIND FROM TO              which bytes are the head, chunk lines, content, trailers, what follows, the fault
/// status  STATUS REASON VERSION     of the last head
/// field   NAME VALUE                trailer, and with `interim-` in front those of an interim head, likewise
/// framing KIND [LENGTH]  content COUNT  end STATE
/// error   SENTENCE
/// reuse   yes|no SENTENCE           may the connection carry another exchange?
/// resume  yes|no SENTENCE           could a download that is cut here resume?
/// range, rest: what a 206 claims, and what it means for the rest that was asked for
/// ```
struct MessageVerdict {
    private let circumstances: Circumstances
    private let bytes: [UInt8]
    private var transcript: Transcript
    private var offset = 0
    /// What came of the body.
    private var content = 0
    private var isComplete = false

    static func write(_ input: [UInt8], to transcript: inout Transcript) {
        let line = input.prefix { $0 != 0x0A }
        var verdict = MessageVerdict(
            circumstances: Circumstances(String(decoding: line, as: UTF8.self)),
            bytes: Array(input[line.endIndex...].dropFirst()), transcript: transcript)
        verdict.read()
        transcript = verdict.transcript
    }

    private mutating func read() {
        let bytes = bytes
        var parser = ResponseHeadParser()
        var interim = 0
        do throws(ParseError) {
            while true {
                let start = offset
                guard let head = try parser.parse(bytes.span.bytes, from: &offset) else {
                    part("unfinished-head", start, bytes.count)
                    return finish(withoutHeadFrom: start)
                }
                let isFinal = !head.isInterim || head.status == 101
                part(isFinal ? "head" : "interim-head", start, offset)
                write(head, prefix: isFinal ? "" : "interim-")
                if isFinal { return readBody(of: head) }
                interim += 1
                if interim > HeadLimits.standard.maximumInterimResponses {
                    return fail("There are more interim responses than allowed.", at: start..<offset)
                }
            }
        } catch {
            fail(error.description, at: fault(error))
        }
    }

    private mutating func readBody(of head: ResponseHead) {
        let framing: BodyFraming
        do throws(ParseError) {
            framing = try BodyFraming.ofResponse(head, to: circumstances.method)
        } catch {
            part("unread", offset, bytes.count)
            return fail(error.description, at: nil)
        }
        write(framing)
        do throws(ParseError) {
            try decode(framing)
        } catch {
            transcript.line("content", "\(content)")
            fail(error.description, at: fault(error))
            return writeResuming(head, framing)
        }
        transcript.line("content", "\(content)")
        if isComplete, offset < bytes.count { part("rest", offset, bytes.count) }
        writeReuse(head, framing)
        writeResuming(head, framing)
    }

    private mutating func decode(_ framing: BodyFraming) throws(ParseError) {
        let bytes = bytes
        var decoder = BodyDecoder(framing)
        // Up to here every byte belongs to a part.
        var told = offset
        while let event = try decoder.decode(bytes.span.bytes, from: &offset) {
            switch event {
            case .bytes(let range):
                part("chunk", told, range.lowerBound)
                part("content", range.lowerBound, range.upperBound)
                content += range.count
                told = range.upperBound
            case .end(let trailers):
                part("last-chunk", told, offset)
                told = offset
                end("complete", trailers)
            }
        }
        part("chunk", told, offset)
        if isComplete { return }
        guard circumstances.closes else {
            transcript.line("end", "open", "More bytes are needed to know the end of the message.")
            return
        }
        if case .end(let trailers) = try decoder.endOfStream() { end("closed", trailers) }
    }

    private mutating func end(_ state: String, _ trailers: HeaderFields) {
        isComplete = true
        for field in trailers { transcript.line("trailer", field.name, field.value) }
        transcript.line(
            "end", state,
            state == "closed" ? "The body ends because the server closes the connection." : "The message is complete.")
    }

    // MARK: - Lines

    private mutating func part(_ kind: String, _ from: Int, _ to: Int) {
        if from < to { transcript.line("part", kind, "\(from)", "\(to)") }
    }

    private mutating func write(_ head: ResponseHead, prefix: String) {
        transcript.line(prefix + "status", "\(head.status)", head.reason, head.version.description)
        for field in head.fields { transcript.line(prefix + "field", field.name, field.value) }
    }

    private mutating func write(_ framing: BodyFraming) {
        switch framing {
        case .none: transcript.line("framing", "none", "There is no body.")
        case .length(let length): transcript.line("framing", "length", "The body has \(length) bytes.", "\(length)")
        case .chunked: transcript.line("framing", "chunked", "The body comes in chunks.")
        case .untilClose:
            transcript.line("framing", "until-close", "The body is all that comes until the server closes.")
        }
    }

    private mutating func fail(_ sentence: String, at range: Range<Int>?) {
        if let range { part("fault", range.lowerBound, range.upperBound) }
        if let range { part("unread", range.upperBound, bytes.count) }
        transcript.line("error", sentence)
        transcript.line("reuse", "no", "After an error nobody knows where the next response begins.")
    }

    private mutating func finish(withoutHeadFrom start: Int) {
        guard circumstances.closes else {
            transcript.line("end", "open", "More bytes are needed to know the end of the head.")
            return
        }
        if bytes.isEmpty {
            transcript.line("error", "The server closed the connection without a response.")
        } else {
            transcript.line("error", ParseError.prematureEnd.description)
        }
        transcript.line("reuse", "no", "The server has closed the connection.")
    }

    /// The bytes that an error is about: one byte of a chunk's size line or end, a line that is too much, or the line that was
    /// read last.
    private func fault(_ error: ParseError) -> Range<Int>? {
        switch error {
        case .prematureEnd:
            return nil
        case .invalidChunkSize, .chunkTooLarge, .invalidChunkExtension, .chunkExtensionTooLarge:
            return max(0, offset - 1)..<offset
        case .missingChunkEnd:
            return offset..<min(bytes.count, offset + 1)
        case .headTooLarge, .trailersTooLarge:
            // The line that passes the limit has not been taken.
            return offset..<(bytes[offset...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count)
        default:
            var start = max(0, offset - 1)
            while start > 0, bytes[start - 1] != 0x0A { start -= 1 }
            return start..<max(offset, min(bytes.count, start + 1))
        }
    }

    // MARK: - Rules

    /// The rule's answer, and what decides it: the rule is asked again with one thing changed.
    private mutating func writeReuse(_ head: ResponseHead, _ framing: BodyFraming) {
        func isAllowed(_ head: ResponseHead, _ request: HeaderFields) -> Bool {
            ConnectionReuse.isAllowed(after: head, framing: framing, requestFields: request)
        }
        let asked: HeaderFields = circumstances.asksToClose ? [.connection: "close"] : [:]
        var unconnected = head
        unconnected.fields.removeAll(.connection)
        let sentence: String
        if !isComplete {
            sentence = "The message has not ended."
        } else if framing == .untilClose {
            sentence = "The end of the connection is the end of the body."
        } else if head.status == 101 {
            sentence = "After 101 the connection carries another protocol."
        } else if !isAllowed(head, asked) {
            if isAllowed(head, [:]) {
                sentence = "The request has asked to close."
            } else if isAllowed(unconnected, asked) {
                sentence = "The response says “Connection: close”."
            } else {
                sentence = "The server speaks HTTP/1.0 and does not say “Connection: keep-alive”."
            }
        } else if offset < bytes.count {
            sentence = "Bytes follow that belong to no request."
        } else if circumstances.closes {
            sentence = "It could be, but the server has closed it."
        } else {
            let time = ConnectionReuse.idleTimeout(head).map { " The server keeps it for \($0) seconds." } ?? ""
            return transcript.line("reuse", "yes", "The message is complete, and neither side asks to close.\(time)")
        }
        transcript.line("reuse", "no", sentence)
    }

    private mutating func writeResuming(_ head: ResponseHead, _ framing: BodyFraming) {
        if head.fields.contains(.contentRange) { writeRange(head, framing) }
        if let point = circumstances.point {
            writeRest(Resumability.judge(head, framing: framing, asked: point))
        } else if circumstances.method != .get {
            transcript.line("resume", "no", "Only a GET is resumed.")
        } else if let validator = Resumability.validator(of: head) {
            transcript.line("resume", "yes", "The rest can be requested with “If-Range: \(validator)”.")
        } else {
            for reason in obstacles(head) { transcript.line("resume", "no", reason) }
        }
    }

    /// Why the rule finds no validator: a response that could be resumed is given one trait of this one after another.
    private func obstacles(_ head: ResponseHead) -> [String] {
        var obstacles: [String] = []
        func test(_ names: [FieldName], status: Int = 200, _ sentence: String) {
            var ideal = ResponseHead(status: status, fields: [.etag: "\"v1\""])
            if names.contains(where: { $0 == .etag }) { ideal.fields = [:] }
            for name in names {
                for value in head.fields.values(of: name) { ideal.fields.append(name, value) }
            }
            if Resumability.validator(of: ideal) == nil { obstacles.append(sentence) }
        }
        test([], status: head.status, "The status is neither 200 nor 206.")
        test([.contentEncoding], "The content is coded: a coded body may differ from one time to the next.")
        if head.status != 206 { test([.acceptRanges], "The server says that it has no byte ranges.") }
        let isTagged = head.fields.contains(.etag)
        test(
            [.etag, .lastModified, .date],
            isTagged
                ? "The entity tag is weak or broken, so it does not name the exact bytes."
                : "There is no entity tag, and no “Last-Modified” that is at least a second older than “Date”.")
        return obstacles.isEmpty ? ["The status and the fields together do not allow it."] : obstacles
    }

    private mutating func writeRange(_ head: ResponseHead, _ framing: BodyFraming) {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }) else {
            transcript.line("range", "invalid", "“Content-Range” is not a valid range of bytes.")
            return
        }
        guard let bounds = range.bounds else {
            transcript.line("range", "unsatisfied", "The resource has \(range.completeLength.word) bytes.")
            return
        }
        let count = bounds.upperBound - bounds.lowerBound + 1
        let total = range.completeLength.map { "\($0)" } ?? "an unknown number"
        transcript.line(
            "range", "bytes",
            "These are bytes \(bounds.lowerBound) to \(bounds.upperBound) of \(total): \(count) of them.")
        if case .length(let length) = framing, length != count {
            transcript.line("range", "mismatch", "The length is \(length), which is not that of the range.")
        } else if content > 0, isComplete, Int64(content) != count {
            transcript.line("range", "mismatch", "The body has \(content) bytes, and the range \(count).")
        }
    }

    private mutating func writeRest(_ verdict: Resumability.Verdict) {
        switch verdict {
        case .continues(let part):
            let overlap = part.overlap > 0 ? " The first \(part.overlap) are on disk already." : ""
            let rest = part.end < part.total ? " The rest from \(part.end) on is requested again." : ""
            transcript.line(
                "rest", "continues", "The body is appended, up to byte \(part.end) of \(part.total).\(overlap)\(rest)")
        case .replaces:
            transcript.line("rest", "replaces", "The body is the whole resource, and replaces the bytes on disk.")
        case .repeats:
            transcript.line(
                "rest", "repeats", "The whole has come though it has not changed: the rest is requested once more.")
        case .repeatsEarlier:
            transcript.line(
                "rest", "repeats earlier",
                "Nothing in it confirms the date: the rest is requested once more with 1 MiB that is there, which has to agree."
            )
        case .complete:
            transcript.line("rest", "complete", "The file on disk is complete already.")
        case .unusable:
            transcript.line("rest", "unusable", "None of it may be used: the whole resource is requested.")
        case .notTheResource:
            transcript.line("rest", "other", "The response is not the resource.")
        }
    }
}

/// What the client knows when a response comes, as words with blanks between them:
/// `method=GET close=yes request-close=yes have=OFFSET/TOTAL if-match=yes validator="v1"`. The validator is the last word,
/// and may contain blanks; `TOTAL` may be `*`.
struct Circumstances {
    private(set) var method = RequestMethod.get
    /// Whether the server closes the connection after the bytes.
    private(set) var closes = false
    /// Whether the request said `Connection: close`.
    private(set) var asksToClose = false
    /// Where the download that the request resumes stands.
    private(set) var point: ResumePoint?

    init(_ line: String) {
        var have: (offset: Int64, total: Int64?)?
        var validator = "\"v1\""
        var condition = ResumePoint.Condition.ifRange
        var rest = Array(line.utf8)[...]
        while !rest.isEmpty {
            let name = String(decoding: rest.prefix { $0 != UInt8(ascii: "=") && $0 != 0x20 }, as: UTF8.self)
            rest = rest.dropFirst(name.utf8.count)
            if rest.first == UInt8(ascii: "=") { rest.removeFirst() }
            let value = name == "validator" ? rest : rest.prefix { $0 != 0x20 }
            rest = rest[value.endIndex...].dropFirst()
            let text = String(decoding: value, as: UTF8.self)
            switch name {
            case "method": method = RequestMethod(text)
            case "close": closes = text == "yes"
            case "request-close": asksToClose = text == "yes"
            case "have":
                let halves = value.split(separator: UInt8(ascii: "/"))
                if let first = halves.first, let offset = Int64(digits: first) {
                    have = (offset, halves.count == 2 ? Int64(digits: halves[1]) : nil)
                }
            case "if-match": condition = text == "yes" ? .ifMatch : .ifRange
            case "validator": validator = text
            default: break
            }
        }
        if let have {
            point = ResumePoint(offset: have.offset, total: have.total, validator: validator, condition: condition)
        }
    }
}
