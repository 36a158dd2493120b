extension HeaderFields {
    /// `Age` in seconds (RFC 9111 §5.1). Of several values the first counts; nil when there is none or it is broken.
    package var age: Int64? {
        listElements(of: .age).first.flatMap { CacheControl.seconds($0) }
    }

    /// `Date`; nil when there is none or it is broken.
    package var date: HTTPDate? {
        values(of: .date).first.flatMap { HTTPDate($0) }
    }

    /// `Last-Modified`; nil when there is none or it is broken.
    package var lastModified: HTTPDate? {
        values(of: .lastModified).first.flatMap { HTTPDate($0) }
    }

    /// `Expires`; nil when there is none. A broken one, and `0` above all, is a moment in the past
    /// (RFC 9111 §5.3).
    package var expires: HTTPDate? {
        values(of: .expires).first.map { HTTPDate($0) ?? HTTPDate(secondsSinceEpoch: 0) }
    }

    /// The bytes that the fields take in memory, about.
    package var byteCount: Int { bytes.count }
}
