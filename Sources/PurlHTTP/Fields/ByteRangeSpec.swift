/// One range of a `Range` field (RFC 9110 §14.1.2).
package enum ByteRangeSpec: Sendable, Hashable {
    /// `N-`: from that byte to the end.
    case from(Int64)
    /// `N-M`: both enclosed.
    case bounds(ClosedRange<Int64>)
    /// `-N`: the last bytes.
    case suffix(Int64)

    /// nil for everything that is not one range.
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

    /// The bytes meant of a representation of that length; nil when it has none of them.
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
