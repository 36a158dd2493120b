import Foundation
internal import PurlConnections
internal import PurlHTTP

/// Proof that responses to requests for ranges belong to one version of a resource: that which a file begins with.
///
/// Each request names the version with `If-Range` (RFC 9110 §13.1.5), and each response must confirm it, the range that was
/// asked for and the length of the whole before a byte of it is placed.
package struct RangeProof: Sendable, Equatable {
    /// What a response to a request for a range means.
    package enum Verdict: Sendable, Equatable {
        /// The body is the range, of the version.
        case proven
        /// The server refuses the request for now: 429 or 503.
        case busy
        /// The server refuses the request, or answers something that says nothing about ranges: an error page, a redirect.
        case refused
        /// The response is not the range, or does not prove it.
        case unproven
        /// The server has another version.
        case otherVersion
    }

    package let validator: String
    package let total: Int64

    /// - Parameters:
    ///   - validator: A strong entity tag or a strong date.
    ///   - total: The length of the resource.
    package init(validator: String, total: Int64) {
        self.validator = validator
        self.total = total
    }

    /// What names the version that another server of the resource has, whichever that is, as the response to the first request
    /// for a range of it says; `nil` when the response does not name one.
    ///
    /// - Parameter total: The length of the resource.
    package init?(foundIn response: HTTPURLResponse, total: Int64) {
        guard let validator = Resumability.validator(of: response.head),
            validator.utf8.allSatisfy({ 0x20...0x7E ~= $0 })
        else { return nil }
        self.init(validator: validator, total: total)
    }

    /// Whether the server may be asked for ranges of the resource that a response has begun to send.
    package static func allowsRanges(_ response: HTTPURLResponse) -> Bool {
        response.statusCode == 206 || !response.head.fields.contains(.acceptRanges) || advertisesRanges(response)
    }

    /// Whether the server says that it has ranges of the resource.
    package static func advertisesRanges(_ response: HTTPURLResponse) -> Bool {
        response.statusCode == 206 || response.head.fields.hasToken("bytes", in: .acceptRanges)
    }

    /// The request for a range of the version.
    ///
    /// - Parameter request: The request for the whole.
    package func request(for range: Range<Int64>, like request: URLRequest) -> URLRequest {
        var request = Self.request(for: range, like: request)
        request.setValue(validator, forHTTPHeaderField: "If-Range")
        return request
    }

    /// The request for a range of any version.
    ///
    /// - Parameter request: The request for the whole.
    package static func request(for range: Range<Int64>, like request: URLRequest) -> URLRequest {
        var request = request
        request.setValue("bytes=\(range.lowerBound)-\(range.upperBound - 1)", forHTTPHeaderField: "Range")
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        for name in ["If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"] {
            request.setValue(nil, forHTTPHeaderField: name)
        }
        request.cachePolicy = .reloadIgnoringLocalCacheData
        return request
    }

    /// What a response to the request for a range means.
    package func verdict(on response: HTTPURLResponse, to range: Range<Int64>) -> Verdict {
        let head = response.head
        let point = ResumePoint(offset: range.lowerBound, total: total, validator: validator)
        switch head.status {
        case 206:
            switch Resumability.judge(head, framing: Self.framing(of: head), asked: point) {
            case .continues(let part) where part.overlap == 0 && part.end == range.upperBound: return .proven
            case .continues, .replaces, .repeats, .repeatsEarlier, .complete, .unusable, .notTheResource:
                return contradicts(head) ? .otherVersion : .unproven
            }
        default:
            let verdict = Self.verdict(onStatus: head.status)
            return verdict == .unproven && contradicts(head) ? .otherVersion : verdict
        }
    }

    /// What a response to the request for a range means that says nothing of its version.
    package static func verdict(onStatus status: Int) -> Verdict {
        switch status {
        case 429, 503: .busy
        case 200, 206, 412, 416: .unproven
        default: .refused
        }
    }

    /// Whether the response names another version, or another length of the whole.
    private func contradicts(_ head: ResponseHead) -> Bool {
        if let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), let length = range.completeLength,
            length != total
        {
            return true
        }
        if let ours = EntityTag(validator) {
            return head.fields.latin1(.etag).flatMap { EntityTag($0) }.map { !$0.strongMatch(ours) } ?? false
        }
        return head.fields[.lastModified].flatMap { HTTPDate($0) }.map { $0 != HTTPDate(validator) } ?? false
    }

    private static func framing(of head: ResponseHead) -> BodyFraming {
        guard !head.fields.contains(.transferEncoding), let length = head.fields[.contentLength].flatMap({ Int64($0) })
        else { return .chunked }
        return .length(length)
    }
}
