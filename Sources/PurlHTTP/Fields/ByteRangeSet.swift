/// The value of a `Range` field in bytes: `bytes=0-99,-5`.
package struct ByteRangeSet: Sendable, Hashable {
    /// The ranges in the order they were asked for; never empty when it was parsed.
    package var ranges: [ByteRangeSpec]

    package init(_ ranges: [ByteRangeSpec]) {
        self.ranges = ranges
    }

    /// nil for another unit, for no range at all and when one of them is broken: such a field is ignored as a whole.
    package init?(_ text: String) {
        let parts = Array(text.utf8).trimmingBlanks().split(
            separator: .equals, maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).equalsIgnoringCase("bytes") else {
            return nil
        }
        ranges = []
        for element in parts[1].split(separator: .comma) {
            let trimmed = element.trimmingBlanks()
            if trimmed.isEmpty { continue }
            guard let range = ByteRangeSpec(trimmed) else { return nil }
            ranges.append(range)
        }
        if ranges.isEmpty { return nil }
    }

    /// The bytes meant of a representation of that length, in the order asked for. Ranges it has nothing of are
    /// left out; none at all means status 416.
    package func resolve(against length: Int64) -> [Range<Int64>] {
        ranges.compactMap { $0.resolve(against: length) }
    }
}

extension ByteRangeSet: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        "bytes=" + ranges.map(\.description).joined(separator: ",")
    }
}
