/// What a 304 response does to the stored response it speaks of (RFC 9111 §4.3.4 and §3.2).
extension CachedResponse {
    /// Whether a 304 response speaks of this stored response: they have the same validator, or the 304 has none, in
    /// which case the question itself told which was meant.
    package func isConfirmed(by notModified: HeaderFields) -> Bool {
        if let text = notModified.values(of: .etag).first, let tag = EntityTag(text) {
            guard let stored = fields.values(of: .etag).first.flatMap({ EntityTag($0) }) else { return false }
            return tag.isWeak ? stored.weakMatch(tag) : stored.strongMatch(tag)
        }
        if let modified = notModified.lastModified { return modified == fields.lastModified }
        return true
    }

    /// Whether a 200 to HEAD says that a GET would bring something else now (RFC 9111 §4.3.5): another validator, or
    /// another length.
    package func isContradicted(byHead head: HeaderFields) -> Bool {
        let validators: [FieldName] = [.etag, .lastModified]
        if validators.contains(where: { head.contains($0) && head.values(of: $0) != fields.values(of: $0) }) {
            return true
        }
        guard let length = head.values(of: .contentLength).first, let stored = fields.values(of: .contentLength).first
        else { return false }
        return Int64(digits: length.utf8) != Int64(digits: stored.utf8)
    }

    /// The stored response with the fields of the 304 that confirmed it, as fresh as that one.
    package func updated(by notModified: HeaderFields, requestTime: Int64, responseTime: Int64) -> CachedResponse {
        var result = self
        result.requestTime = requestTime
        result.responseTime = responseTime
        // RFC 9111 §4.2.3 counts from the last confirmation: age and date from before say nothing any more.
        result.fields.removeAll(.age)
        result.fields.removeAll(.date)
        let fresh = CacheStorage.storedFields(of: notModified).filter {
            !CachedResponse.contentFields.contains(FieldName($0.name))
        }
        for name in Set(fresh.map { FieldName($0.name) }) { result.fields.removeAll(name) }
        for field in fresh { result.fields.append(FieldName(field.name), field.value) }
        return result
    }

    /// They describe the stored bytes, which a 304 does not bring.
    private static let contentFields: Set<FieldName> = [.contentLength, .contentEncoding, .contentRange]
}
