/// Reads the three date formats of RFC 9110 §5.6.7.
struct DateScanner {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(Array(text.utf8).trimmingBlanks())
    }

    /// The date that the whole text is, or nil.
    mutating func date(now: HTTPDate?) -> HTTPDate? {
        // The longest form is 33 bytes; nothing longer is worth a look.
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

    /// The place in the list of the name that comes next.
    private mutating func name(in names: [String]) -> Int64? {
        for (index, name) in names.enumerated() where take(name) { return Int64(index) }
        return nil
    }
}
