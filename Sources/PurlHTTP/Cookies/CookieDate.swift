/// The date of an `Expires` attribute, by the lenient grammar of RFC 6265bis §5.1.1: tokens in any order, with any
/// delimiters.
package enum CookieDate {
    /// The date in `text`; nil when there is none.
    package static func read(_ text: String) -> HTTPDate? {
        read(Array(text.utf8)[...])
    }

    /// The date in the bytes; nil when there is none.
    static func read(_ bytes: ArraySlice<UInt8>) -> HTTPDate? {
        var parts = Parts()
        for token in bytes.split(whereSeparator: isDelimiter) { parts.take(token) }
        return parts.date
    }

    /// `%x09 / %x20-2F / %x3B-40 / %x5B-60 / %x7B-7E`
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// The parts found so far. Of several tokens that could be the same part, the first counts.
    private struct Parts {
        private var time: (hour: Int64, minute: Int64, second: Int64)?
        private var day: Int64?
        private var month: Int64?
        private var year: Int64?

        /// RFC 6265bis §5.1.1 step 2: the productions in their order, each only while its part is missing.
        mutating func take(_ token: ArraySlice<UInt8>) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found
            }
        }

        /// RFC 6265bis §5.1.1 steps 3 to 6.
        var date: HTTPDate? {
            guard let time, let day, let month, let year, time.second <= 59 else { return nil }
            let fullYear =
                switch year {
                case 70...99: year + 1900
                case 0...69: year + 2000
                default: year
                }
            guard fullYear >= 1601 else { return nil }
            return HTTPDate(
                year: fullYear, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
        }

        /// `hms-time [ non-digit *OCTET ]`, each field of one or two digits.
        private static func time(_ token: ArraySlice<UInt8>) -> (hour: Int64, minute: Int64, second: Int64)? {
            let fields = token.split(separator: .colon, maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[0].count <= 2, fields[1].count <= 2,
                let hour = Int64(digits: fields[0]), let minute = Int64(digits: fields[1]),
                let second = number(fields[2], digits: 1...2)
            else { return nil }
            return (hour, minute, second)
        }

        /// A number of as many digits as `digits` allows, and no digit after them.
        private static func number(_ token: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int64? {
            let head = token.prefix { $0.digitValue != nil }
            return digits.contains(head.count) ? Int64(digits: head) : nil
        }

        /// A month by the first three letters of its name; the rest is ignored.
        private static func month(_ token: ArraySlice<UInt8>) -> Int64? {
            guard token.count >= 3 else { return nil }
            let head = token.prefix(3)
            let index = HTTPDate.monthNames.firstIndex { name in
                zip(name.utf8, head).allSatisfy { $0.lowercased == $1.lowercased }
            }
            return index.map { Int64($0) + 1 }
        }
    }
}
