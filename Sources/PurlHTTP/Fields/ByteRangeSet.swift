/// The value of a `Range` field in bytes: `bytes=0-99,-5`.
package struct ByteRangeSet: Sendable, Hashable {
    /// The ranges in the order of the field; never empty when parsed.
    package var ranges: [ByteRangeSpec]

    package init(_ ranges: [ByteRangeSpec]) {
        self.ranges = ranges
    }

    /// Reads the field's value; nil for another unit, for no range at all and when one range is broken: such a field
    /// is ignored as a whole.
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

    /// The bytes selected of a representation of that length, in the order of the field. A range outside the
    /// representation is left out; an empty result means status 416.
    package func resolve(against length: Int64) -> [Range<Int64>] {
        ranges.compactMap { $0.resolve(against: length) }
    }
}

extension ByteRangeSet: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        "bytes=" + ranges.map { $0.description }.joined(separator: ",")
    }
}

/// One range of a `Range` field (RFC 9110 §14.1.2).
package enum ByteRangeSpec: Sendable, Hashable {
    /// `N-`: from that byte to the end.
    case from(Int64)
    /// `N-M`: both included.
    case bounds(ClosedRange<Int64>)
    /// `-N`: the last bytes.
    case suffix(Int64)

    /// Reads one range; nil for any other text.
    init?(_ bytes: some BidirectionalCollection<UInt8>) {
        let ends = bytes.split(separator: 0x2D, omittingEmptySubsequences: false)
        guard ends.count == 2 else { return nil }
        switch (Int64(digits: ends[0]), Int64(digits: ends[1])) {
        case (let first?, let last?) where first <= last:
            self = .bounds(first...last)
        case (let first?, nil) where ends[1].isEmpty:
            self = .from(first)
        case (nil, let count?) where ends[0].isEmpty:
            self = .suffix(count)
        case (.some, .some), (.some, nil), (nil, .some), (nil, nil):
            return nil
        }
    }

    /// The bytes selected of a representation of that length; nil when the range lies outside it.
    package func resolve(against length: Int64) -> Range<Int64>? {
        guard length > 0 else { return nil }
        switch self {
        case .from(let first):
            guard first >= 0, first < length else { return nil }
            return first..<length
        case .bounds(let bounds):
            guard bounds.lowerBound >= 0, bounds.lowerBound < length else { return nil }
            return bounds.lowerBound..<(min(bounds.upperBound, length - 1) + 1)
        case .suffix(let count):
            guard count > 0 else { return nil }
            return (length - min(count, length))..<length
        }
    }
}

extension ByteRangeSpec: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        switch self {
        case .from(let first): "\(first)-"
        case .bounds(let bounds): "\(bounds.lowerBound)-\(bounds.upperBound)"
        case .suffix(let count): "-\(count)"
        }
    }
}
