/// A moment as HTTP writes it, to the second (RFC 9110 §5.6.7).
package struct HTTPDate: Sendable, Hashable {
    /// Seconds since 1970-01-01 00:00:00 UTC, leap seconds not counted.
    package var secondsSinceEpoch: Int64

    package init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Reads any of the three formats; nil for any other text and for dates that do not exist.
    ///
    /// `now` settles the century of the obsolete format with a two-digit year: a date more than 50 years ahead of
    /// it is in the past. Without it years run from 1970 to 2069.
    package init?(_ text: String, now: HTTPDate? = nil) {
        var scanner = DateScanner(text)
        guard let date = scanner.date(now: now) else { return nil }
        self = date
    }

    /// The moment of a date and time of day in the proleptic Gregorian calendar; nil when there is no such date.
    /// A 60th second, as leap seconds have, is the first of the next minute.
    init?(year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64) {
        guard (0...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= HTTPDate.days(inMonth: month, of: year),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let days = HTTPDate.daysSinceEpoch(year: year, month: month, day: day)
        secondsSinceEpoch = days * 86_400 + hour * 3_600 + minute * 60 + second
    }
}

extension HTTPDate: Comparable {
    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }
}

extension HTTPDate: CustomStringConvertible {
    static let dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    static let longDayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The format to send, `IMF-fixdate`: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var description: String {
        let (days, second) = secondsSinceEpoch.flooredDivision(by: 86_400)
        let (year, month, day) = HTTPDate.civil(daysSinceEpoch: days)
        // Day 0 was a Thursday.
        let weekday = (days % 7 + 10) % 7
        let time = [second / 3_600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(HTTPDate.dayNames[Int(weekday)]), \(day.padded(to: 2)) \(HTTPDate.monthNames[Int(month) - 1]) "
            + "\(year.padded(to: 4)) \(time) GMT"
    }
}

// MARK: - The calendar

extension HTTPDate {
    /// The year of this moment.
    var year: Int64 {
        HTTPDate.civil(daysSinceEpoch: secondsSinceEpoch.flooredDivision(by: 86_400).quotient).year
    }

    /// The same date and time 50 years later; a leap day becomes the first of March. nil beyond the year 9999.
    var fiftyYearsLater: HTTPDate? {
        let (days, second) = secondsSinceEpoch.flooredDivision(by: 86_400)
        let (year, month, day) = HTTPDate.civil(daysSinceEpoch: days)
        guard (0...9_949).contains(year) else { return nil }
        let later = HTTPDate.daysSinceEpoch(year: year + 50, month: month, day: day)
        return HTTPDate(secondsSinceEpoch: later * 86_400 + second)
    }

    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Both directions count years from March, so that the leap day is the last of its year and months need no
    // table: the k-th month from March begins on day (153k + 2) / 5. An era is 400 years, 146,097 days.
    private static let daysFromYearZeroToEpoch: Int64 = 719_468

    private static func daysSinceEpoch(year: Int64, month: Int64, day: Int64) -> Int64 {
        let (era, yearOfEra) = (month > 2 ? year : year - 1).flooredDivision(by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - daysFromYearZeroToEpoch
    }

    private static func civil(daysSinceEpoch days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (days + daysFromYearZeroToEpoch).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension Int64 {
    /// Quotient rounded down and the remainder that goes with it, never negative. `divisor` is positive.
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// In decimal with zeros in front up to that width.
    fileprivate func padded(to width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

/// Reads the three date formats of RFC 9110 §5.6.7.
struct DateScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(Array(text.utf8).trimmingBlanks())
    }

    /// The date, or nil when the text as a whole is not one.
    mutating func date(now: HTTPDate?) -> HTTPDate? {
        // The longest form is 33 bytes.
        guard bytes.count <= 40 else { return nil }
        let comma = bytes.firstIndex(of: .comma)
        let date =
            switch comma {
            case nil: asctime()
            case 3: fixdate()
            default: rfc850(now: now)
            }
        return position == bytes.count ? date : nil
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    private mutating func fixdate() -> HTTPDate? {
        guard name(in: HTTPDate.dayNames) != nil, take(", "),
            let day = digits(2), take(" "), let month = name(in: HTTPDate.monthNames), take(" "),
            let year = digits(4), take(" "), let time = timeOfDay(), take(" GMT")
        else { return nil }
        return HTTPDate(
            year: year, month: month + 1, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    /// `Sunday, 06-Nov-94 08:49:37 GMT`
    private mutating func rfc850(now: HTTPDate?) -> HTTPDate? {
        guard name(in: HTTPDate.longDayNames) != nil, take(", "),
            let day = digits(2), take("-"), let month = name(in: HTTPDate.monthNames), take("-"),
            let shortYear = digits(2), take(" "), let time = timeOfDay(), take(" GMT")
        else { return nil }

        func date(in year: Int64) -> HTTPDate? {
            HTTPDate(year: year, month: month + 1, day: day, hour: time.hour, minute: time.minute, second: time.second)
        }
        guard let now else { return date(in: shortYear < 70 ? 2000 + shortYear : 1900 + shortYear) }
        // RFC 9110 §5.6.7: more than 50 years ahead means the last year in the past with the same two digits.
        let latest = now.year + 50
        let year = latest - ((latest - shortYear) % 100 + 100) % 100
        guard year == latest, let result = date(in: year), let limit = now.fiftyYearsLater, result > limit else {
            return date(in: year)
        }
        return date(in: year - 100)
    }

    /// `Sun Nov  6 08:49:37 1994`
    private mutating func asctime() -> HTTPDate? {
        guard name(in: HTTPDate.dayNames) != nil, take(" "),
            let month = name(in: HTTPDate.monthNames), take(" "),
            let day = take(" ") ? digits(1) : digits(2), take(" "),
            let time = timeOfDay(), take(" "), let year = digits(4)
        else { return nil }
        return HTTPDate(
            year: year, month: month + 1, day: day, hour: time.hour, minute: time.minute, second: time.second)
    }

    private mutating func timeOfDay() -> (hour: Int64, minute: Int64, second: Int64)? {
        guard let hour = digits(2), take(":"), let minute = digits(2), take(":"), let second = digits(2) else {
            return nil
        }
        return (hour, minute, second)
    }

    private mutating func take(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func digits(_ count: Int) -> Int64? {
        guard bytes.count - position >= count else { return nil }
        let number = Int64(digits: bytes[position..<position + count])
        if number != nil { position += count }
        return number
    }

    /// The index of the name that the text continues with.
    private mutating func name(in names: [String]) -> Int64? {
        for (index, name) in names.enumerated() where take(name) { return Int64(index) }
        return nil
    }
}
