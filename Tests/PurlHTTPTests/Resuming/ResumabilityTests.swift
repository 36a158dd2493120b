import PurlHTTP
import Testing

/// What a response to the request for the rest means, without a connection.
@Suite("The rules of resuming")
struct ResumabilityTests {
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let otherDate = "Sun, 06 Nov 1994 08:49:38 GMT"

    private func judge(
        _ status: Int, _ fields: HeaderFields, framing: BodyFraming = .chunked, total: Int64? = 10,
        validator: String = "\"v1\"", _ condition: ResumePoint.Condition = .ifRange
    ) -> Resumability.Verdict {
        let point = ResumePoint(offset: 4, total: total, validator: validator, condition: condition)
        return Resumability.judge(ResponseHead(status: status, fields: fields), framing: framing, asked: point)
    }

    @Test("A part with status 200 is not taken for the whole")
    func partWithStatus200() {
        let fields: HeaderFields = ["Content-Range": "bytes 4-9/10", "ETag": "\"v1\""]
        #expect(judge(200, fields) == .unusable)
        #expect(judge(200, fields, .ifMatch) == .unusable)
    }

    static let parts: [(range: String, total: Int64?, verdict: Resumability.Verdict)] = [
        ("bytes 4-9/10", 10, .continues(ResumedPart(end: 10, total: 10))),
        ("bytes 4-9/10", nil, .continues(ResumedPart(end: 10, total: 10))),
        ("bytes 4-9/*", 10, .continues(ResumedPart(end: 10, total: 10))),
        ("bytes 4-9/*", nil, .unusable),
        ("bytes 4-4/10", 10, .continues(ResumedPart(end: 5, total: 10))),
        ("bytes 4-7/*", 10, .continues(ResumedPart(end: 8, total: 10))),
        ("bytes 0-9/10", 10, .continues(ResumedPart(overlap: 4, end: 10, total: 10))),
        ("bytes 3-4/10", 10, .continues(ResumedPart(overlap: 1, end: 5, total: 10))),
        ("bytes 0-3/10", 10, .unusable),
        ("bytes 5-9/10", 10, .unusable),
        ("bytes 4-10/11", 10, .unusable),
        ("bytes 4-8/9", 10, .unusable),
        ("bytes 4-10/*", 10, .unusable),
        ("bytes */10", 10, .unusable),
        ("lines 4-9/10", 10, .unusable),
    ]

    @Test("A 206 is appended from the point on, as far as it reaches", arguments: parts)
    func part(range: String, total: Int64?, verdict: Resumability.Verdict) {
        #expect(judge(206, ["Content-Range": range, "ETag": "\"v1\""], total: total) == verdict)
        #expect(judge(206, ["Content-Range": range, "ETag": "\"v1\""], total: total, .ifMatch) == verdict)
    }

    @Test(
        "A 206 in parts is not appended, whatever range it names",
        arguments: ["multipart/byteranges; boundary=x", "MULTIPART/ByteRanges;boundary=x", "multipart/byteranges"])
    func partsOfItsOwn(type: String) {
        let fields: HeaderFields = ["Content-Range": "bytes 4-9/10", "ETag": "\"v1\"", "Content-Type": type]
        #expect(judge(206, fields) == .unusable)
        #expect(judge(206, fields, .ifMatch) == .unusable)
    }

    static let withoutConfirmation: [(validator: String, fields: HeaderFields)] = [
        ("\"v1\"", [:]),
        ("\"v1\"", ["ETag": "\"v2\""]),
        ("\"v1\"", ["ETag": "W/\"v1\""]),
        ("\"v1\"", ["Last-Modified": date]),
        (date, [:]),
        (date, ["Last-Modified": otherDate]),
        (date, ["ETag": "\"v1\""]),
    ]

    @Test("A 206 that does not itself confirm the version is not used", arguments: withoutConfirmation)
    func unconfirmed(validator: String, fields: HeaderFields) {
        var fields = fields
        fields.append(.contentRange, "bytes 4-9/10")
        #expect(judge(206, fields, validator: validator) == .unusable)
    }

    @Test("A date confirms the exact rest, and no earlier part")
    func dates() {
        let fields: HeaderFields = ["Last-Modified": Self.date]
        let rest = fields.adding("Content-Range", "bytes 4-9/10")
        #expect(judge(206, rest, validator: Self.date) == .continues(ResumedPart(end: 10, total: 10)))
        #expect(judge(206, fields.adding("Content-Range", "bytes 3-9/10"), validator: Self.date) == .unusable)
    }

    static let datesLeftOut: [(offset: Int64, overlap: Int64, range: String, HeaderFields, Resumability.Verdict)] = [
        (3 << 20, 0, "bytes 3145728-4194303/4194304", [:], .repeatsEarlier),
        (
            3 << 20, 1 << 20, "bytes 2097152-4194303/4194304", [:],
            .continues(ResumedPart(overlap: 1 << 20, end: 4 << 20, total: 4 << 20))
        ),
        (3 << 20, 1 << 20, "bytes 3145728-4194303/4194304", [:], .unusable),
        (3 << 20, 1 << 20, "bytes 2097153-4194303/4194304", [:], .unusable),
        (3 << 20, 0, "bytes 2097152-4194303/4194304", [:], .unusable),
        (3 << 20, 0, "bytes 3145728-4194303/4194304", ["ETag": "\"v1\""], .unusable),
        (3 << 20, 0, "bytes 3145728-4194303/4194304", ["Last-Modified": otherDate], .unusable),
        (3 << 20, 1 << 20, "bytes 2097152-4194303/4194304", ["Last-Modified": otherDate], .unusable),
        (3 << 20, 0, "bytes 3145728-4194304/4194305", [:], .unusable),
        (1 << 20, 0, "bytes 1048576-4194303/4194304", [:], .unusable),
    ]

    @Test("A server that does not repeat the date is asked for bytes that are there as well", arguments: datesLeftOut)
    func dateLeftOut(
        offset: Int64, overlap: Int64, range: String, fields: HeaderFields, verdict: Resumability.Verdict
    ) {
        var point = ResumePoint(offset: offset, total: 4 << 20, validator: Self.date)
        point.overlap = overlap
        let head = ResponseHead(status: 206, fields: fields.adding("Content-Range", range))
        #expect(Resumability.judge(head, framing: .chunked, asked: point) == verdict)
        point.condition = .ifMatch
        #expect(Resumability.judge(head, framing: .chunked, asked: point) == .unusable)
    }

    @Test(
        "The range begins with what has to agree, and ends where something is there",
        arguments: [
            (0, nil, "bytes=100-"), (10, nil, "bytes=90-"), (0, 150, "bytes=100-149"), (10, 150, "bytes=90-149"),
        ]
            as [(Int64, Int64?, String)])
    func requestedRange(overlap: Int64, end: Int64?, range: String) {
        var point = ResumePoint(offset: 100, total: 200, validator: Self.date)
        point.overlap = overlap
        point.end = end
        #expect(point.requestedRange == range)
    }

    @Test("A length that is not that of the range makes a 206 unusable")
    func length() {
        let fields: HeaderFields = ["Content-Range": "bytes 2-7/10", "ETag": "\"v1\""]
        #expect(judge(206, fields, framing: .length(6)) == .continues(ResumedPart(overlap: 2, end: 8, total: 10)))
        #expect(judge(206, fields, framing: .length(4)) == .unusable)
    }

    static let wholes: [(fields: HeaderFields, length: Int64, verdict: Resumability.Verdict)] = [
        (["ETag": "\"v1\""], 10, .repeats),
        (["ETag": "\"v1\"", "Accept-Ranges": "bytes"], 10, .repeats),
        (["ETag": "\"v1\"", "Accept-Ranges": "none"], 10, .replaces),
        (["ETag": "\"v1\""], 11, .replaces),
        (["ETag": "\"v1\"", "Content-Encoding": "gzip"], 10, .replaces),
        (["ETag": "W/\"v1\""], 10, .replaces),
        (["ETag": "\"v2\""], 10, .replaces),
        (["Last-Modified": date], 10, .replaces),
        ([:], 10, .replaces),
    ]

    @Test("A 200 with the same strong tag is asked for again, once; any other replaces", arguments: wholes)
    func whole(fields: HeaderFields, length: Int64, verdict: Resumability.Verdict) {
        #expect(judge(200, fields, framing: .length(length)) == verdict)
        #expect(judge(200, fields, framing: .length(length), .ifMatch) == .replaces)
    }

    @Test("A 200 without a length is used as it comes", arguments: [BodyFraming.chunked, .untilClose])
    func wholeWithoutLength(framing: BodyFraming) {
        for fields in [["ETag": "\"v1\""], ["ETag": "\"v1\"", "Accept-Ranges": "bytes"]] as [HeaderFields] {
            #expect(judge(200, fields, framing: framing) == .replaces)
            #expect(judge(200, fields, framing: framing, total: nil) == .replaces)
        }
    }

    @Test("A 200 with the same date replaces: a date does not vouch for that much")
    func wholeOfDate() {
        #expect(judge(200, ["Last-Modified": Self.date], validator: Self.date) == .replaces)
    }

    @Test("An error is the response to If-Range, and unusable as one to If-Match", arguments: [404, 412, 501, 503])
    func errors(status: Int) {
        #expect(judge(status, [:]) == .notTheResource)
        #expect(judge(status, [:], .ifMatch) == .unusable)
    }

    static let validators: [(status: Int, fields: HeaderFields, validator: String?)] = [
        (200, ["ETag": "\"v1\""], "\"v1\""),
        (206, ["ETag": "\"v1\"", "Accept-Ranges": "none"], "\"v1\""),
        (200, ["ETag": "\"v1\"", "Accept-Ranges": "none"], nil),
        (404, ["ETag": "\"v1\""], nil),
        (200, ["ETag": "W/\"v1\"", "Last-Modified": date, "Date": otherDate], nil),
        (200, ["Last-Modified": date, "Date": otherDate], date),
        (200, ["Last-Modified": date, "Date": date], nil),
        (200, ["Last-Modified": date], nil),
        (200, ["ETag": "\"v1\"", "Content-Encoding": "gzip"], nil),
        (200, ["ETag": "\"v1\"", "Content-Encoding": "IDENTITY"], "\"v1\""),
        (200, ["ETag": "\"v1\"", "Content-Encoding": "identity, gzip"], nil),
        (200, [:], nil),
    ]

    @Test("Only a strong validator of an uncoded resource lets a transfer be resumed", arguments: validators)
    func validator(status: Int, fields: HeaderFields, validator: String?) {
        #expect(Resumability.validator(of: ResponseHead(status: status, fields: fields)) == validator)
    }
}

extension HeaderFields {
    fileprivate func adding(_ name: FieldName, _ value: String) -> HeaderFields {
        var fields = self
        fields.append(name, value)
        return fields
    }
}
