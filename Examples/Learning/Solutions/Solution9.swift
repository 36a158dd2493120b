import Foundation
import Purl

/// The solution of exercise 9.
enum Solution9 {
    static func validator(of response: HTTPURLResponse) -> String? {
        guard response.value(forHTTPHeaderField: "Accept-Ranges")?.lowercased() != "none" else { return nil }
        if let tag = response.value(forHTTPHeaderField: "ETag") { return tag.hasPrefix("W/") ? nil : tag }
        guard let modified = response.value(forHTTPHeaderField: "Last-Modified"), let change = date(modified),
            let answer = response.value(forHTTPHeaderField: "Date").flatMap(date),
            answer.timeIntervalSince(change) >= 1
        else { return nil }
        return modified
    }

    /// A date as HTTP writes it.
    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return formatter.date(from: text)
    }
}
