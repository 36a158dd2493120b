/// An entity tag (RFC 9110 §8.8.3): `"abc"` or `W/"abc"`.
package struct EntityTag: Sendable {
    /// Whether the tag is weak: equal weak tags mean equivalent, not identical, representations.
    package var isWeak: Bool
    /// The text between the quotes.
    package var opaque: String

    /// Reads one entity tag; nil for any other text, also for a tag without quotes.
    package init?(_ text: String) {
        var rest = Array(text.utf8).trimmingBlanks()
        // RFC 9110 §8.8.3: only the upper-case W is allowed.
        isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest = rest.dropFirst(2) }
        guard rest.count >= 2, rest.first == .quote, rest.last == .quote else { return nil }
        rest = rest.dropFirst().dropLast()
        guard rest.allSatisfy({ $0 > 0x20 && $0 != .quote && $0 != 0x7F }) else { return nil }
        opaque = String(decoding: rest, as: UTF8.self)
    }

    /// The strong comparison (RFC 9110 §8.8.3.2): true when both tags are strong and equal, so the bytes are the same.
    package func strongMatch(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && weakMatch(other)
    }

    /// The weak comparison (RFC 9110 §8.8.3.2): true when the tags are equal, so the representations are equivalent.
    package func weakMatch(_ other: EntityTag) -> Bool {
        // Byte by byte: canonically equivalent Unicode texts are different tags.
        opaque.utf8.elementsEqual(other.opaque.utf8)
    }
}

extension EntityTag: Equatable {
    /// The same tag in every respect. To compare representations use `strongMatch` or `weakMatch`.
    package static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.isWeak == right.isWeak && left.weakMatch(right)
    }
}

extension EntityTag: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        (isWeak ? "W/\"" : "\"") + opaque + "\""
    }
}
