import Foundation
internal import PurlHTTP

/// Where a transfer that goes on begins, and what the rest must belong to.
struct ResumePoint: Sendable, Equatable {
    /// The bytes there are: the first one asked for.
    var offset: Int64
    /// The length of the whole, if known.
    var total: Int64?
    /// The value of `If-Range`.
    var validator: String
}

/// The rules of resuming, all of them: when a response can be gone on with, and what an answer to the request for
/// the rest means.
enum Resumability {
    /// What identifies the bytes of this response beyond doubt, `nil` when the transfer cannot be resumed.
    ///
    /// It takes a GET without a range of the user's own, a 200 or 206, no content coding, a server that accepts byte
    /// ranges, and a strong validator (RFC 9110 §8.8.1: only a strong one may join ranges).
    static func validator(for request: URLRequest, answeredBy head: ResponseHead) -> String? {
        guard request.method == .get, request.httpBody == nil, request.httpBodyStream == nil,
            request.value(forHTTPHeaderField: "Range") == nil
        else { return nil }
        guard head.status == 206 || (head.status == 200 && head.fields.hasToken("bytes", in: .acceptRanges)) else {
            return nil
        }
        guard !isCoded(head) else { return nil }
        if let text = head.fields[.etag] {
            // A weak tag says "equivalent", not "the same bytes", and then a date may not step in for it.
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

    /// What the answer to a request for the rest means.
    enum Answer: Equatable {
        /// The rest comes: append it.
        case goesOn(total: Int64)
        /// The whole resource comes, because it changed or the server knows no ranges: empty the file first.
        case startsOver
        /// There is no rest: the file is whole.
        case isComplete
        /// The answer does not fit the question: nothing of it may be used, the whole has to be asked for.
        case isUnusable
        /// An error page or the like: not the resource at all.
        case isNotTheResource
    }

    static func judge(_ head: ResponseHead, framing: BodyFraming, asked point: ResumePoint) -> Answer {
        switch head.status {
        case 200: .startsOver
        case 206: judgeRest(head, framing: framing, asked: point)
        case 416: judgeUnsatisfied(head, asked: point)
        default: .isNotTheResource
        }
    }

    /// RFC 9110 §15.3.7: only a `Content-Range` that starts where we stopped, reaches the end of a resource of the
    /// same length and carries the same validator is the rest. Everything else never gets near the file.
    private static func judgeRest(_ head: ResponseHead, framing: BodyFraming, asked point: ResumePoint) -> Answer {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), let bounds = range.bounds,
            let total = range.completeLength ?? point.total
        else { return .isUnusable }
        guard bounds.lowerBound == point.offset, bounds.upperBound == total - 1,
            point.total == nil || point.total == total, !isCoded(head), agrees(head, with: point)
        else { return .isUnusable }
        if case .length(let length) = framing, length != total - point.offset { return .isUnusable }
        return .goesOn(total: total)
    }

    private static func judgeUnsatisfied(_ head: ResponseHead, asked point: ResumePoint) -> Answer {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), range.bounds == nil,
            range.completeLength == point.offset, point.total == nil || point.total == point.offset,
            agrees(head, with: point)
        else { return .isUnusable }
        return .isComplete
    }

    /// The validators of the answer, where it has any, are the ones we hold.
    private static func agrees(_ head: ResponseHead, with point: ResumePoint) -> Bool {
        if let ours = EntityTag(point.validator) {
            guard let text = head.fields[.etag] else { return true }
            return EntityTag(text)?.strongMatch(ours) ?? false
        }
        guard let text = head.fields[.lastModified] else { return true }
        return HTTPDate(text) == HTTPDate(point.validator)
    }
}
