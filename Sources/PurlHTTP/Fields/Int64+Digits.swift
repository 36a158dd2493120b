extension Int64 {
    /// A number of one or more decimal digits and nothing else: no sign, no blank. nil also when it does not fit.
    package init?(digits: some Collection<UInt8>) {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for byte in digits {
            guard let digit = byte.digitValue else { return nil }
            let (tenfold, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(Int64(digit))
            guard !overflow, !carry else { return nil }
            number = sum
        }
        self = number
    }
}

extension BidirectionalCollection<UInt8> where SubSequence: BidirectionalCollection<UInt8> {
    /// The part without blanks around it.
    func trimmingBlanks() -> SubSequence {
        guard let first = firstIndex(where: { !$0.isBlank }), let last = lastIndex(where: { !$0.isBlank }) else {
            return self[endIndex...]
        }
        return self[first...last]
    }
}
