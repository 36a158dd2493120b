/// A version of draft-ietf-httpbis-resumable-upload that both ends of an upload have to name before either relies on it.
package enum UploadVersion: Int, CaseIterable, Sendable {
    /// That of draft -05.
    case six = 6
    /// That of draft -09 and later.
    case eight = 8

    /// The version that a `Upload-Draft-Interop-Version` field names; nil for one that is not spoken here, and for any
    /// other value.
    package init?(_ text: String) {
        var reader = StructuredFieldReader(text)
        guard case .integer(let number) = reader.readItem(), let version = Self(rawValue: Int(clamping: number)) else {
            return nil
        }
        self = version
    }

    /// As it goes on the wire.
    package var fieldValue: String { String(rawValue) }
}

/// The value of `Upload-Limit`: what a server takes, in bytes and seconds. Every limit is optional.
package struct UploadLimits: Sendable, Hashable {
    /// `max-size`: the longest content.
    package var maximumSize: Int64?
    /// `max-append-size`: the longest content of one request.
    package var maximumAppendSize: Int64?

    /// No limits.
    package init(maximumSize: Int64? = nil, maximumAppendSize: Int64? = nil) {
        self.maximumSize = maximumSize
        self.maximumAppendSize = maximumAppendSize
    }

    /// Reads the field's value; nil for what is not a dictionary, and for one in which a known key has another value than
    /// a number of bytes or seconds. Unknown keys are skipped.
    package init?(_ text: String) {
        self.init()
        var reader = StructuredFieldReader(text)
        var isUsable = true
        let isRead = reader.readDictionary(
            of: { $0.memberItem() },
            visit: { key, item in
                let name = String(decoding: key, as: UTF8.self)
                guard Self.keys.contains(name) else { return }
                guard case .integer(let number) = item, number >= 0 else {
                    isUsable = false
                    return
                }
                switch name {
                case "max-size": maximumSize = number
                case "max-append-size": maximumAppendSize = number
                default: break
                }
            })
        guard isRead, isUsable else { return nil }
    }

    /// The keys of all versions; `expires` was `max-age`'s name in version 6.
    private static let keys: Set<String> = [
        "max-size", "min-size", "max-append-size", "min-append-size", "max-age", "expires",
    ]

    /// Takes over the limits that a later response names.
    package mutating func update(with later: UploadLimits) {
        maximumSize = later.maximumSize ?? maximumSize
        maximumAppendSize = later.maximumAppendSize ?? maximumAppendSize
    }
}

/// What a response, interim or final, states about an upload. A field that breaks its grammar counts as missing.
package struct UploadFields: Sendable, Hashable {
    /// The version that the server speaks; nil where it names none that is spoken here.
    package var version: UploadVersion?
    /// Whether the server has all of the content.
    package var isComplete: Bool?
    /// How many bytes of the content the server has.
    package var offset: Int64?
    package var limits: UploadLimits

    package init(
        version: UploadVersion? = nil, isComplete: Bool? = nil, offset: Int64? = nil,
        limits: UploadLimits = UploadLimits()
    ) {
        self.version = version
        self.isComplete = isComplete
        self.offset = offset
        self.limits = limits
    }

    package init(_ fields: HeaderFields) {
        version = fields[.uploadDraftInteropVersion].flatMap { UploadVersion($0) }
        // The first versions had the negation, which some servers of later versions send as well.
        isComplete =
            fields[.uploadComplete].flatMap(Self.boolean) ?? fields[.uploadIncomplete].flatMap(Self.boolean).map { !$0 }
        offset = fields[.uploadOffset].flatMap(Self.count)
        limits = fields[.uploadLimit].flatMap { UploadLimits($0) } ?? UploadLimits()
    }

    private static func boolean(_ text: String) -> Bool? {
        var reader = StructuredFieldReader(text)
        guard case .boolean(let value) = reader.readItem() else { return nil }
        return value
    }

    private static func count(_ text: String) -> Int64? {
        var reader = StructuredFieldReader(text)
        guard case .integer(let value) = reader.readItem(), value >= 0 else { return nil }
        return value
    }

    /// A Boolean as it goes on the wire.
    package static func text(_ value: Bool) -> String { value ? "?1" : "?0" }

    /// Whether a field of this name belongs to the protocol of uploads.
    package static func contains(_ name: FieldName) -> Bool { names.contains(name) }

    private static let names: Set<FieldName> = [
        .uploadComplete, .uploadDraftInteropVersion, .uploadIncomplete, .uploadLength, .uploadLimit, .uploadOffset,
    ]
}
