internal import PurlHTTP

/// Which part of its content a response has.
enum ContentSelection: Equatable {
    case whole
    case part(Range<Int64>)
    /// As `multipart/byteranges`.
    case parts([Range<Int64>])
    case unsatisfiable(isLengthKnown: Bool)
    case notModified
    case preconditionFailed

    /// Evaluates the request's conditions and range against the reply's validators, in the order of RFC 9110 §13.2.2.
    init(of request: RequestHead, traits: ReplyTraits, length: Int64) {
        let ranges = traits.ranges?.value
        if ranges == .refused || ranges == .refusedWithoutLength {
            self = .unsatisfiable(isLengthKnown: ranges == .refused)
        } else if traits.status != 200 || !(request.method == .get || request.method == .head) {
            self = .whole
        } else if traits.honoursConditions && !Self.matches(request.fields, traits) {
            self = .preconditionFailed
        } else if traits.honoursConditions && Self.isNotModified(request.fields, traits) {
            self = .notModified
        } else if ranges != .ignored && request.method == .get {
            self = Self.range(of: request.fields, traits, length: length)
        } else {
            self = .whole
        }
    }

    /// Whether `If-Match` lets the request be carried out. RFC 9110 §13.1.1: strong comparison.
    private static func matches(_ fields: HeaderFields, _ traits: ReplyTraits) -> Bool {
        guard fields.contains(.ifMatch) else { return true }
        let tags = fields.listElements(of: .ifMatch)
        if tags.contains("*") { return true }
        guard let current = traits.currentTag else { return false }
        return tags.contains { EntityTag($0)?.strongMatch(current) ?? false }
    }

    private static func isNotModified(_ fields: HeaderFields, _ traits: ReplyTraits) -> Bool {
        // RFC 9110 §13.1.3: If-Modified-Since counts only where there is no If-None-Match.
        if fields.contains(.ifNoneMatch) {
            let tags = fields.listElements(of: .ifNoneMatch)
            if tags.contains("*") { return true }
            guard let current = traits.currentTag else { return false }
            return tags.contains { EntityTag($0)?.weakMatch(current) ?? false }
        }
        guard let modified = traits.lastModified, let since = fields[.ifModifiedSince].flatMap({ HTTPDate($0) }) else {
            return false
        }
        return modified <= since
    }

    private static func range(of fields: HeaderFields, _ traits: ReplyTraits, length: Int64) -> ContentSelection {
        guard let text = fields[.range], let set = ByteRangeSet(text) else { return .whole }
        if let condition = fields[.ifRange] {
            switch traits.ifRange {
            case .evaluated: if !isCurrent(condition, traits) { return .whole }
            case .ignored: break
            case .neverTrue: return .whole
            }
        }
        let ranges = set.resolve(against: length).map { traits.rangeFault?.value.applied(to: $0, of: length) ?? $0 }
        guard let range = ranges.first else { return .unsatisfiable(isLengthKnown: true) }
        if traits.ranges?.value == .multipart { return .parts(ranges) }
        // RFC 9110 §14.2: a server may ignore ranges, and this one ignores several unless it is told otherwise.
        return ranges.count == 1 ? .part(range) : .whole
    }

    /// Whether an `If-Range` condition holds. RFC 9110 §13.1.5: strong comparison for tags, an exact match for dates.
    private static func isCurrent(_ condition: String, _ traits: ReplyTraits) -> Bool {
        if let tag = EntityTag(condition) { return traits.currentTag?.strongMatch(tag) ?? false }
        if let date = HTTPDate(condition) { return traits.lastModified == date }
        return false
    }
}

extension ReplyTraits {
    /// The entity tag of a resolved reply, if it has one that can be compared.
    fileprivate var currentTag: EntityTag? {
        switch entityTag {
        case .fixed(let tag): EntityTag(tag)
        case .none, .each, .fresh: nil
        }
    }
}

extension Reply.RangeFault {
    /// The range that is sent in place of `range`, never an empty one.
    ///
    /// - Parameter total: The length of the content.
    fileprivate func applied(to range: Range<Int64>, of total: Int64) -> Range<Int64> {
        switch self {
        case .startShifted(let distance):
            let (start, overflow) = range.lowerBound.addingReportingOverflow(Int64(distance))
            guard !overflow else { return distance < 0 ? 0..<range.upperBound : range }
            return min(max(0, start), range.upperBound - 1)..<range.upperBound
        case .shortened(let count):
            return range.lowerBound..<(range.lowerBound + min(Int64(range.count), Int64(max(1, count))))
        case .lengthened(let count):
            return range.lowerBound..<(range.upperBound + min(total - range.upperBound, Int64(max(0, count))))
        }
    }
}

extension FieldName {
    fileprivate static let ifMatch = FieldName("If-Match")
}
