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

    /// What an answer to a request for the rest means: nothing is appended that is not the rest.
    static let resumability = FuzzTarget("resumability") { bytes in
        var choices = Choices(bytes)
        let validator = choices.one(of: ["\"v1\"", "Sun, 06 Nov 1994 08:49:37 GMT", "\"\""])
        let (offset, total) = (max(0, choices.integer()), choices.flag() ? max(0, choices.integer()) : nil)
        let point = ResumePoint(offset: offset, total: total, validator: validator)
        var parser = ResponseHeadParser()
        var position = 0
        let text = choices.remainder()
        guard let head = try? parser.parse(text.span.bytes, from: &position),
            let framing = try? BodyFraming.ofResponse(head, to: "GET")
        else { return }
        switch Resumability.judge(head, framing: framing, asked: point) {
        case .continues(let length):
            requireSame(head.status, 206, "only a 206 is appended")
            requireSame(total ?? length, length, "of a resource of the same length")
            guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), let bounds = range.bounds else {
                fail("and only with a range")
            }
            requireSame(bounds, offset...max(offset, length - 1), "that is exactly the rest")
            if EntityTag(validator) != nil, let tag = head.fields[.etag] {
                requireSame(tag, validator, "of the same version")
            }
        case .replaces: requireSame(head.status, 200, "the whole comes with 200")
        case .complete: requireSame(head.status, 416, "complete is what has no rest")
        case .unusable: require(head.status == 206 || head.status == 416, "it was meant to be the rest")
        case .notTheResource: require(![200, 206, 416].contains(head.status), "it is something else")
        }
        guard let url = URL(string: "http://example.com/a") else { return }
        if let strong = Resumability.validator(for: URLRequest(url: url), response: head) {
            require(EntityTag(strong).map { !$0.isWeak } ?? (HTTPDate(strong) != nil), "only what is strong resumes")
            require(head.status == 200 || head.status == 206, "and only of a resource")
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
