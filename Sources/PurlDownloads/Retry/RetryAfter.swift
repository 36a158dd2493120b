import Foundation
internal import PurlHTTP

/// The value of `Retry-After` (RFC 9110 §10.2.3): seconds, or a moment.
struct RetryAfter {
    /// How long from now; nothing for a moment that has passed.
    let delay: Duration

    /// `nil` for everything that is neither.
    init?(_ text: String, now: Date = Date()) {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than a number holds are more than anybody waits.
            delay = .seconds(min(Int64(text) ?? .max, 1_000_000_000))
        } else if let date = HTTPDate(text) {
            let seconds = Double(date.secondsSinceEpoch) - now.timeIntervalSince1970
            delay = .milliseconds(Int64((min(max(0, seconds), 1_000_000_000) * 1000).rounded(.up)))
        } else {
            return nil
        }
    }
}
