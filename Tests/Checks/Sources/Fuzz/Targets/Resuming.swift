import Foundation
import PurlHTTP

@testable import Purl

extension FuzzTarget {
    /// Resume data, as a whole file and made of the input's parts: what is taken is sound, and written again it is
    /// taken for the same.
    static let resumeData = FuzzTarget("resume-data") { bytes in
        let blob = Data(bytes)
        if bytes.starts(with: "<?xml".utf8) {
            ResumeBlobs.look(at: blob)
        } else {
            var choices = Choices(bytes)
            let data = ResumeBlobs.composed(from: &choices)
            guard let written = try? data.encoded() else { return }
            let read = try? ResumeData(decoding: written)
            // What this code refuses it does not believe of itself either.
            if data.isSound { requireSame(read, data, "sound data is written and read as the same") }
            if read == nil { require(!data.isSound, "what is refused is not sound") }
            ResumeBlobs.look(at: written)
        }
    }

    private static let request = URLRequest(url: URL(string: "http://example.com/a") ?? URL(fileURLWithPath: "/"))

    /// What an answer to a request for the rest means: nothing is appended that is not the rest. With the top bit of the
    /// first byte the input is a whole course of answers.
    static let resumability = FuzzTarget("resumability") { bytes in
        var choices = Choices(bytes)
        let first = choices.byte()
        guard first < 0x80 else { return ResumeCourse.run(&choices) }
        let validator = ["\"v1\"", "Sun, 06 Nov 1994 08:49:37 GMT", "\"\""][Int(first & 0x3F) % 3]
        let (offset, total) = (max(0, choices.integer()), choices.flag() ? max(0, choices.integer()) : nil)
        let point = ResumePoint(
            offset: offset, total: total, validator: validator, condition: first & 0x40 == 0 ? .ifRange : .ifMatch)
        var parser = ResponseHeadParser()
        var position = 0
        let text = choices.remainder()
        guard let head = try? parser.parse(text.span.bytes, from: &position),
            let framing = try? BodyFraming.ofResponse(head, to: "GET")
        else { return }
        ResumeCourse.check(Resumability.judge(head, framing: framing, asked: point), of: head, asked: point)
        if let strong = Resumability.validator(for: request, response: head) {
            require(EntityTag(strong).map { !$0.isWeak } ?? (HTTPDate(strong) != nil), "only what is strong resumes")
            require(head.status == 200 || head.status == 206, "and only of a resource")
        }
    }
}

/// A download whose bytes of one version are there, and a server that answers as the input chooses: with either version, and
/// with any range of it. Its tags and ranges are true where it sends them.
private struct ResumeCourse {
    private static let tags = ["\"v1\"", "\"v2\""]
    private static let dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:39 GMT"]
    private static let maximumAnswers = 300

    /// The bytes of each version. They differ everywhere.
    private let versions: [[UInt8]]

    static func run(_ choices: inout Choices) {
        let (older, newer) = (1 + choices.number(below: 40), 1 + choices.number(below: 40))
        let course = ResumeCourse(versions: [(0..<older).map { UInt8($0) }, (0..<newer).map { 0x80 | UInt8($0) }])
        course.run(&choices)
    }

    private func run(_ choices: inout Choices) {
        var file = Array(versions[0].prefix(choices.number(below: versions[0].count + 1)))
        let isTagged = choices.flag()
        var point: ResumePoint? = ResumePoint(
            offset: Int64(file.count), total: choices.flag() ? Int64(versions[0].count) : nil,
            validator: isTagged ? Self.tags[0] : Self.dates[0])
        if file.isEmpty { return }
        var (repeats, wholes) = (0, 0)
        for _ in 0..<Self.maximumAnswers {
            guard let asked = point else {
                wholes += 1
                requireSame(wholes, 1, "the whole is asked for once")
                return
            }
            let (head, framing, body, version) = answer(&choices, isTagged: isTagged)
            let verdict = Resumability.judge(head, framing: framing, asked: asked)
            Self.check(verdict, of: head, asked: asked)
            switch verdict {
            case .continues(let part):
                let fresh = body.dropFirst(Int(part.overlap))
                require(!fresh.isEmpty, "each part brings a byte")
                file += fresh
                requireSame(Int64(file.count), part.end, "a part ends where it says")
                requireSame(file, Array(versions[0].prefix(file.count)), "no bytes of two versions are joined")
                if part.end == part.total { return requireSame(file, versions[0], "the file is whole") }
                point?.offset = part.end
                point?.total = part.total
            case .repeats:
                repeats += 1
                requireSame(repeats, 1, "the rest is asked for once more")
                requireSame(version, 0, "only what has not changed is asked for once more")
                point?.condition = .ifMatch
            case .repeatsEarlier:
                repeats += 1
                requireSame(repeats, 1, "the rest is asked for once more")
                point?.overlap = ResumePoint.provingOverlap
            case .replaces: return
            case .complete: return requireSame(Int64(file.count), asked.offset, "all is there")
            case .unusable: point = nil
            case .notTheResource: return
            }
        }
    }

    /// An answer, its body, and the version it is of.
    private func answer(
        _ choices: inout Choices, isTagged: Bool
    ) -> (ResponseHead, BodyFraming, [UInt8], version: Int) {
        let status = choices.one(of: [206, 206, 206, 206, 200, 416, 412, 503])
        let traits = choices.byte()
        // A date of one second tells two versions apart only when the server says which it has.
        let version = traits & 1 == 0 ? 0 : 1
        let whole = versions[version]
        var head = ResponseHead(status: status)
        if traits & 2 == 0 { head.fields.append(.etag, (traits & 4 == 0 ? "" : "W/") + Self.tags[version]) }
        if traits & 8 == 0 { head.fields.append(.lastModified, Self.dates[version]) }
        if traits & 16 != 0 { head.fields.append(.acceptRanges, choices.one(of: ["bytes", "none", "pages"])) }
        guard status == 206 else {
            if status == 416 { head.fields.append(.contentRange, "bytes */\(whole.count)") }
            // A part with the wrong status. All that comes is the whole, but who could know?
            if status == 200, traits & 128 != 0 {
                head.fields.append(.contentRange, "bytes 0-\(whole.count - 1)/\(whole.count)")
            }
            let framing = traits & 32 == 0 ? BodyFraming.length(Int64(whole.count)) : .chunked
            return (head, framing, status == 200 ? whole : [], version)
        }
        let lower = choices.number(below: whole.count)
        let body = Array(whole[lower..<min(whole.count, lower + 1 + choices.number(below: whole.count))])
        let total = traits & 64 == 0 ? String(whole.count) : "*"
        head.fields.append(.contentRange, "bytes \(lower)-\(lower + body.count - 1)/\(total)")
        return (head, traits & 32 == 0 ? .length(Int64(body.count)) : .chunked, body, version)
    }

    /// What holds for a verdict about any answer.
    static func check(_ verdict: Resumability.Verdict, of head: ResponseHead, asked point: ResumePoint) {
        switch verdict {
        case .continues(let part):
            requireSame(head.status, 206, "only a 206 is appended")
            requireSame(point.total ?? part.total, part.total, "of a resource of the same length")
            guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), let bounds = range.bounds else {
                fail("and only with a range")
            }
            require(part.overlap >= 0 && part.overlap <= point.offset, "what overlaps is there")
            requireSame(bounds.lowerBound, point.offset - part.overlap, "that begins where it must")
            requireSame(bounds.upperBound + 1, part.end, "and ends where it says")
            require(part.end > point.offset && part.end <= part.total, "with a byte more, and none too many")
            let isCompared = part.overlap > 0 && part.overlap == point.overlap
            require(
                part.overlap == 0 || isCompared || EntityTag(point.validator) != nil,
                "only a tag vouches for an earlier part, or a comparison")
            if !isCompared { confirm(head, point) }
        case .repeatsEarlier:
            requireSame(head.status, 206, "a part has come")
            requireSame(point.condition, .ifRange, "on condition of a date")
            require(EntityTag(point.validator) == nil, "as no tag is known")
            require(!head.fields.contains(.lastModified) && !head.fields.contains(.etag), "which it leaves out")
            require(point.offset > ResumePoint.provingOverlap && point.overlap == 0, "with enough to compare, once")
        case .repeats:
            requireSame(head.status, 200, "the whole has come")
            require(!head.fields.contains(.contentRange), "and is no part")
            requireSame(point.condition, .ifRange, "and is refused once")
            require(EntityTag(point.validator) != nil, "and for a strong tag")
            confirm(head, point)
        case .replaces:
            requireSame(head.status, 200, "the whole comes with 200")
            require(!head.fields.contains(.contentRange), "and is no part")
        case .complete: requireSame(head.status, 416, "complete is what has no rest")
        case .unusable:
            let isPart = head.status == 200 && head.fields.contains(.contentRange)
            require(
                isPart || [206, 416].contains(head.status) || point.condition == .ifMatch, "it was meant to be the rest"
            )
        case .notTheResource: require(![200, 206, 416].contains(head.status), "it is something else")
        }
    }

    private static func confirm(_ head: ResponseHead, _ point: ResumePoint) {
        if EntityTag(point.validator) != nil {
            requireSame(head.fields[.etag], point.validator, "of the same version")
        } else {
            requireSame(
                head.fields[.lastModified].flatMap { HTTPDate($0) }, HTTPDate(point.validator), "of the same date")
        }
    }
}

private enum ResumeBlobs {
    static func look(at blob: Data) {
        guard let data = try? ResumeData(decoding: blob) else { return }
        require(!data.partialName.contains("/") && data.partialName != "..", "a name leads nowhere else")
        require(data.bytesReceived >= 0 && data.bytesReceived <= data.totalBytes ?? .max, "sizes are possible")
        requireSame(data.originalRequest.method, "GET", "only a GET is gone on with")
        let record = ResumeRecord(blob)
        requireSame(record?.bytesReceived, data.bytesReceived, "the record has the same")
        _ = data.originalRequest.request
        _ = data.currentRequest.request
        guard let written = try? data.encoded() else { return }
        requireSame(try? ResumeData(decoding: written), data, "written and read again it is the same")
    }

    static func composed(from choices: inout Choices) -> ResumeData {
        let names = ["purl-0e5b4b9e-6f2c-4c59-9d56-0b9d1a4a8e52.partial", "../x", "", ".", "a/b", "cookies.v1"]
        let name = choices.flag() ? choices.one(of: names) : choices.line()
        let (received, total) = (choices.integer(), choices.flag() ? choices.integer() : nil)
        let digest = choices.flag() ? String(repeating: "a", count: 64) : choices.line()
        let validator = choices.optionalLine()
        return ResumeData(
            originalRequest: request(from: &choices), currentRequest: request(from: &choices), partialName: name,
            bytesReceived: received, totalBytes: total, validator: validator, tailDigest: digest)
    }

    static func request(from choices: inout Choices) -> StoredRequest {
        let text = choices.line()
        var request = URLRequest(url: URL(string: text) ?? URL(fileURLWithPath: "/"))
        request.httpMethod = choices.one(of: ["GET", "GET", "GET", "POST"])
        request.timeoutInterval = Double(choices.byte())
        if let name = choices.optionalLine() { request.setValue(choices.line(), forHTTPHeaderField: name) }
        var stored = StoredRequest(request)
        stored.url = text
        return stored
    }
}
