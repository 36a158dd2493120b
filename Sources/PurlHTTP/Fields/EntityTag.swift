/// An entity tag (RFC 9110 §8.8.3): `"abc"` or `W/"abc"`.
package struct EntityTag: Sendable {
    /// Whether equality promises no more than the same meaning.
    package var isWeak: Bool
    /// What stands between the quotes.
    package var opaque: String

    /// nil for everything that is not exactly one entity tag; a tag without quotes is none.
    package init?(_ text: String) {
        var rest = Array(text.utf8).trimmingBlanks()
        // Case matters: RFC 9110 has an upper-case W alone.
        isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest = rest.dropFirst(2) }
        guard rest.count >= 2, rest.first == .quote, rest.last == .quote else { return nil }
        rest = rest.dropFirst().dropLast()
        guard rest.allSatisfy({ $0 > 0x20 && $0 != .quote && $0 != 0x7F }) else { return nil }
        opaque = String(decoding: rest, as: UTF8.self)
    }

    /// The comparison that says that the bytes are the same: both strong and equal.
    package func strongMatch(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && weakMatch(other)
    }

    /// The comparison that says that the meaning is the same.
    package func weakMatch(_ other: EntityTag) -> Bool {
        // Byte by byte: texts that Unicode holds for the same are different tags.
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
