internal import PurlHTTP

/// Which part of its content a response has.
enum ContentSelection: Equatable {
    case whole
    case part(Range<Int64>)
    case unsatisfiable
    case notModified

    /// Evaluates the request's conditions and range against the reply's validators, in the order of RFC 9110 §13.2.2.
    init(of request: RequestHead, traits: ReplyTraits, length: Int64) {
        if case .refused? = traits.ranges?.value {
            self = .unsatisfiable
        } else if traits.status != 200 || !(request.method == .get || request.method == .head) {
            self = .whole
        } else if traits.honoursConditions && Self.isNotModified(request.fields, traits) {
            self = .notModified
        } else if traits.ranges == nil && request.method == .get {
            self = Self.range(of: request.fields, traits, length: length)
        } else {
            self = .whole
        }
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
        if let condition = fields[.ifRange], !isCurrent(condition, traits) { return .whole }
        let ranges = set.resolve(against: length)
        guard let range = ranges.first else { return .unsatisfiable }
        // RFC 9110 §14.2: a server may ignore ranges. This one has no multipart/byteranges.
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
