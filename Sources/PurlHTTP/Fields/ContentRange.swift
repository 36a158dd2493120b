/// The value of `Content-Range` in bytes (RFC 9110 §14.4).
package struct ContentRange: Sendable, Hashable {
    /// First and last byte, both included; nil for an unsatisfied range, `bytes */N`.
    package var bounds: ClosedRange<Int64>?
    /// The length of the whole representation; nil when it is not known, `bytes 0-9/*`.
    package var completeLength: Int64?

    package init(bounds: ClosedRange<Int64>?, completeLength: Int64?) {
        self.bounds = bounds
        self.completeLength = completeLength
    }

    /// Reads the field's value; nil for another unit, a broken value, a last byte before the first or not before the
    /// complete length.
    package init?(_ text: String) {
        let parts = Array(text.utf8).trimmingBlanks().split(separator: .space, maxSplits: 1)
        guard parts.count == 2, String(decoding: parts[0], as: UTF8.self).equalsIgnoringCase("bytes") else {
            return nil
        }
        let halves = parts[1].trimmingBlanks().split(separator: 0x2F, omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }

        let isComplete = !halves[1].elementsEqual("*".utf8)
        completeLength = isComplete ? Int64(digits: halves[1]) : nil
        if isComplete, completeLength == nil { return nil }

        if halves[0].elementsEqual("*".utf8) {
            // `*/*` is not a valid value.
            guard isComplete else { return nil }
            bounds = nil
            return
        }
        let ends = halves[0].split(separator: 0x2D, omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]), first <= last
        else { return nil }
        if let completeLength, last >= completeLength { return nil }
        bounds = first...last
    }
}

extension ContentRange: CustomStringConvertible {
    /// As it goes on the wire.
    package var description: String {
        let range = bounds.map { "\($0.lowerBound)-\($0.upperBound)" } ?? "*"
        return "bytes \(range)/\(completeLength.map { String($0) } ?? "*")"
    }
}
