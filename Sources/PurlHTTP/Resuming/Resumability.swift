/// Where a resumed transfer continues, and the version that the rest must belong to.
package struct ResumePoint: Sendable, Equatable {
    /// How many bytes are there already: the offset of the first one that is requested.
    package var offset: Int64
    /// The offset after the last byte that is requested; `nil` to request everything that follows.
    package var end: Int64?
    /// How many of the bytes that are there are requested once more: where the server does not confirm a date, they have to
    /// agree.
    package var overlap: Int64 = 0
    /// The length of the whole resource, if known.
    package var total: Int64?
    /// The strong entity tag or the date that names the version, with one character for each byte it came in.
    package var validator: String
    /// How the request for the rest is tied to that version.
    package var condition: Condition

    package init(offset: Int64, total: Int64? = nil, validator: String, condition: Condition = .ifRange) {
        self.offset = offset
        self.total = total
        self.validator = validator
        self.condition = condition
    }

    /// The field that carries the validator.
    package enum Condition: Sendable, Equatable {
        /// RFC 9110 §13.1.5: the rest if it is of this version, otherwise the whole.
        case ifRange
        /// RFC 9110 §13.1.1: the rest if it is of this version, otherwise an error. For a server that does not act on `If-Range`.
        case ifMatch
    }

    /// How many bytes prove a version that has only a date: see ``Resumability/Verdict/repeatsEarlier``.
    package static let provingOverlap: Int64 = 1 << 20

    /// The value of `Range`.
    package var requestedRange: String { "bytes=\(offset - overlap)-" + (end.map { "\($0 - 1)" } ?? "") }

    /// The field of the request that carries the validator.
    package var conditionField: FieldName {
        switch condition {
        case .ifRange: .ifRange
        case .ifMatch: .ifMatch
        }
    }
}

/// The part of a resource that a 206 adds to the stored bytes.
package struct ResumedPart: Sendable, Equatable {
    /// How many bytes at the beginning of the body are there already. They are not written.
    package var overlap: Int64
    /// The offset after the last byte of the body. Below ``total`` the rest is requested again from here.
    package var end: Int64
    /// The length of the whole resource.
    package var total: Int64

    package init(overlap: Int64 = 0, end: Int64, total: Int64) {
        self.overlap = overlap
        self.end = end
        self.total = total
    }
}

/// All rules of resuming: when a transfer can be resumed, and what a response to the request for the rest means.
package enum Resumability {
    /// The validator that identifies the bytes of this response to a plain GET beyond doubt; nil when the transfer cannot be
    /// resumed.
    ///
    /// Requires a 200 or 206, no content coding, a server that has not said that it has no byte ranges, and a strong
    /// validator (RFC 9110 §8.8.1: only a strong one may join ranges). RFC 9110 §14.3 lets a server leave `Accept-Ranges`
    /// out, and `If-Range` makes it safe to ask.
    package static func validator(of head: ResponseHead) -> String? {
        guard head.status == 206 || (head.status == 200 && !refusesRanges(head)), !isCoded(head) else { return nil }
        if let text = tag(of: head) {
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

    /// Whether the server supports ranges of another unit only, or none.
    private static func refusesRanges(_ head: ResponseHead) -> Bool {
        head.fields.contains(.acceptRanges) && !head.fields.hasToken("bytes", in: .acceptRanges)
    }

    /// The text of `ETag`, with one character for each byte.
    private static func tag(of head: ResponseHead) -> String? { head.fields.latin1(.etag) }

    private static func isCoded(_ head: ResponseHead) -> Bool {
        head.fields.listElements(of: .contentEncoding).contains { !$0.equalsIgnoringCase("identity") }
    }

    /// What a response to a request for the rest means.
    package enum Verdict: Equatable {
        /// The body is the rest, or a part of it that begins where it must: it is appended.
        case continues(ResumedPart)
        /// The body is the whole resource, which has changed, or whose server knows no ranges: it replaces the file's content.
        case replaces
        /// The body is the whole resource, which has not changed: the server has not acted on `If-Range`, and is asked once
        /// more with `If-Match`.
        case repeats
        /// RFC 9110 §15.3.7 lets a 206 to `If-Range` leave `Last-Modified` out, as this one does, though a date is all that
        /// names the version. The body is not used; the server is asked once more, for a range that begins earlier, and the
        /// bytes that are there have to agree.
        case repeatsEarlier
        /// The file is complete already.
        case complete
        /// The response does not match the request: none of it may be used, and the whole resource is requested.
        case unusable
        /// The response is not the resource: an error page, for example.
        case notTheResource
    }

    /// What `head` means as the response to a request for the rest from `point` on.
    package static func judge(_ head: ResponseHead, framing: BodyFraming, asked point: ResumePoint) -> Verdict {
        switch (head.status, point.condition) {
        // A part, whatever the status is.
        case (200, _) where head.fields.contains(.contentRange): .unusable
        case (200, .ifRange): isUnchanged(head, framing, since: point) ? .repeats : .replaces
        case (200, .ifMatch): .replaces
        case (206, _): judgeRest(head, framing: framing, asked: point)
        case (416, _): judgeUnsatisfied(head, asked: point)
        case (_, .ifRange): .notTheResource
        // A 412, or the page of a server that refuses `If-Match`: the request for the whole resource tells which.
        case (_, .ifMatch): .unusable
        }
    }

    /// Whether a whole response has the strong tag of the point, so that the bytes there are can be continued by a server
    /// that has ranges. One without a length is used as it comes: a server that does not know how long the resource is has
    /// no ranges of it.
    private static func isUnchanged(
        _ head: ResponseHead, _ framing: BodyFraming, since point: ResumePoint
    ) -> Bool {
        guard case .length(let length) = framing, EntityTag(point.validator) != nil, confirms(head, point),
            !isCoded(head), !refusesRanges(head)
        else { return false }
        return length > point.offset && (point.total == nil || point.total == length)
    }

    /// RFC 9110 §15.3.7: only a `Content-Range` that starts at the point, in a response with the same validator, from a
    /// resource of the same length, is the rest or a part of it. Nothing else is ever appended. Where a strong tag names the
    /// version, the range may start earlier: the bytes before the point are those there are.
    private static func judgeRest(_ head: ResponseHead, framing: BodyFraming, asked point: ResumePoint) -> Verdict {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), let bounds = range.bounds,
            let total = range.completeLength ?? point.total
        else { return .unusable }
        guard bounds.lowerBound <= point.offset, point.offset <= bounds.upperBound, bounds.upperBound < total,
            point.total == nil || point.total == total, !isCoded(head), !hasParts(head)
        else { return .unusable }
        let overlap = point.offset - bounds.lowerBound
        let end = bounds.upperBound + 1
        if case .length(let length) = framing, length != end - bounds.lowerBound { return .unusable }
        let part = ResumedPart(overlap: overlap, end: end, total: total)
        if confirms(head, point) {
            return overlap == point.overlap || EntityTag(point.validator) != nil ? .continues(part) : .unusable
        }
        guard mayHaveLeftDateOut(head, point), overlap == point.overlap else { return .unusable }
        return overlap > 0 ? .continues(part) : .repeatsEarlier
    }

    /// Whether the content is not the range itself but a list of parts, each with fields of its own. Such a response has no
    /// `Content-Range` (RFC 9110 §15.3.7.2); one that nevertheless has it cannot be appended.
    private static func hasParts(_ head: ResponseHead) -> Bool {
        head.fields[.contentType].flatMap(MediaType.init)?.essence == "multipart/byteranges"
    }

    /// Whether the response is one to `If-Range` with a date that says nothing about the version, and enough bytes are there
    /// to compare.
    private static func mayHaveLeftDateOut(_ head: ResponseHead, _ point: ResumePoint) -> Bool {
        point.condition == .ifRange && HTTPDate(point.validator) != nil && !head.fields.contains(.lastModified)
            && !head.fields.contains(.etag) && point.offset > ResumePoint.provingOverlap
    }

    private static func judgeUnsatisfied(_ head: ResponseHead, asked point: ResumePoint) -> Verdict {
        guard let range = head.fields[.contentRange].flatMap({ ContentRange($0) }), range.bounds == nil,
            range.completeLength == point.offset, point.total == nil || point.total == point.offset,
            !contradicts(head, point)
        else { return .unusable }
        return .complete
    }

    /// Whether the response itself has the validator of the point. RFC 9110 §15.3.7: a 206 carries the `ETag` that a 200
    /// would; one without it comes from a server that may not have looked at `If-Range` either.
    private static func confirms(_ head: ResponseHead, _ point: ResumePoint) -> Bool {
        if let ours = EntityTag(point.validator) {
            return tag(of: head).flatMap { EntityTag($0) }?.strongMatch(ours) ?? false
        }
        guard let date = HTTPDate(point.validator) else { return false }
        return head.fields[.lastModified].flatMap { HTTPDate($0) } == date
    }

    /// Whether the response has another validator than that of the point.
    private static func contradicts(_ head: ResponseHead, _ point: ResumePoint) -> Bool {
        let name: FieldName = EntityTag(point.validator) == nil ? .lastModified : .etag
        return head.fields.contains(name) && !confirms(head, point)
    }
}
