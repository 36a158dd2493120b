import Foundation
internal import PurlHTTP

/// Where a resumed transfer continues, and the version that the rest must belong to.
struct ResumePoint: Sendable, Equatable {
    /// How many bytes are there already: the offset of the first one that is requested.
    var offset: Int64
    /// The length of the whole resource, if known.
    var total: Int64?
    /// The value of `If-Range`.
    var validator: String
}

/// All rules of resuming: when a transfer can be resumed, and what a response to the request for the rest means.
enum Resumability {
    /// The validator that identifies the bytes of this response beyond doubt; `nil` when the transfer cannot be resumed.
    ///
    /// It takes a GET without a range of the user's own, a 200 or 206, no content coding, a server that accepts byte
    /// ranges, and a strong validator (RFC 9110 §8.8.1: only a strong one may join ranges).
    static func validator(for request: URLRequest, response head: ResponseHead) -> String? {
        guard request.method == .get, request.httpBody == nil, request.httpBodyStream == nil,
            request.value(forHTTPHeaderField: "Range") == nil
        else { return nil }
        guard head.status == 206 || (head.status == 200 && head.fields.hasToken("bytes", in: .acceptRanges)) else {
            return nil
        }
        guard !isCoded(head) else { return nil }
        if let text = head.fields[.etag] {
            // A weak tag means "equivalent", not "the same bytes", and then a date may not take its place.
            guard let tag = EntityTag(text), !tag.isWeak else { return nil }
            return text
        }
        return strongDate(head)
    }

    /// A `Last-Modified` that counts as strong: at least a second older than the response, by the server's own
    /// clock, so that the resource cannot have changed twice within it (RFC 9110 §8.8.2.2).
    private static func strongDate(_ head: ResponseHead) -> String? {
        guard let text = head.fields[.lastModified], let modified = HTTPDate(text),
            let date = head.fields[.date].flatMap({ HTTPDate($0) }),
            date.secondsSinceEpoch - modified.secondsSinceEpoch >= 1
        else { return nil }
        return text
    }

    private static func isCoded(_ head: ResponseHead) -> Bool {
        head.fields.listElements(of: .contentEncoding).contains { $0.lowercased() != "identity" }
    }

    /// What a response to a request for the rest means.
    enum Verdict: Equatable {
        /// The body is the rest: it is appended.
        case continues(total: Int64)
        /// The body is the whole resource, which has changed, or whose server knows no ranges: it replaces the file's content.
        case replaces
        /// There is no rest: the file is complete.
        case complete
        /// The response does not match the request: none of it may be used, and the whole resource is requested.
        case unusable
        /// Not the resource at all: an error page, for example.
        case notTheResource
    }

    static func judge(_ head: ResponseHead, framing: BodyFraming, asked point: ResumePoint) -> Verdict {
        switch head.status {
        case 200: .replaces
        case 206: judgeRest(head, framing: framing, asked: point)
        case 416: judgeUnsatisfied(head, asked: point)
        default: .notTheResource
        }
    }

    /// RFC 9110 §15.3.7: only a `Content-Range` that starts at the point and reaches the end of a resource of the same
    /// length, in a response with the same validator, is the rest. Nothing else is ever appended.
    private static func judgeRest(_ head: ResponseHead, framing: BodyFraming, asked point: ResumePoint) -> Verdict {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), let bounds = range.bounds,
            let total = range.completeLength ?? point.total
        else { return .unusable }
        guard bounds.lowerBound == point.offset, bounds.upperBound == total - 1,
            point.total == nil || point.total == total, !isCoded(head), agrees(head, with: point)
        else { return .unusable }
        if case .length(let length) = framing, length != total - point.offset { return .unusable }
        return .continues(total: total)
    }

    private static func judgeUnsatisfied(_ head: ResponseHead, asked point: ResumePoint) -> Verdict {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), range.bounds == nil,
            range.completeLength == point.offset, point.total == nil || point.total == point.offset,
            agrees(head, with: point)
        else { return .unusable }
        return .complete
    }

    /// Whether the validators of the response, where it has any, are those of the point.
    private static func agrees(_ head: ResponseHead, with point: ResumePoint) -> Bool {
        if let ours = EntityTag(point.validator) {
            guard let text = head.fields[.etag] else { return true }
            return EntityTag(text)?.strongMatch(ours) ?? false
        }
        guard let text = head.fields[.lastModified] else { return true }
        return HTTPDate(text) == HTTPDate(point.validator)
    }
}
