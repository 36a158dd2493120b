import Foundation
import Purl
internal import PurlHTTP
internal import PurlIO

/// Which failed transfers are retried, how often, and after how long.
public struct RetryPolicy: Sendable, Equatable {
    /// How many times in a row a transfer is retried without a byte of progress in between.
    public var maximumRetries = 3
    /// The delay after the first failure.
    public var initialDelay: Duration = .seconds(1)
    /// The longest delay, unless the server asks for a longer one.
    public var maximumDelay: Duration = .seconds(60)
    /// The factor by which the delay grows with each failure; less than 1 means 1.
    public var multiplier = 2.0

    /// The longest `Retry-After` that is respected: one hour. A transfer for which the server asks for more is not retried.
    public static let longestRetryAfter: Duration = .seconds(3600)

    /// Three retries, after 1, 2 and 4 seconds.
    public init() {}

    /// No retries.
    public static let never: RetryPolicy = {
        var policy = RetryPolicy()
        policy.maximumRetries = 0
        return policy
    }()

    /// The delay before the next attempt; `nil` when there is none: the failure is not transient, the retries are used up,
    /// or the server asks for more than ``longestRetryAfter``.
    ///
    /// Transient are lost connections, time-outs, unreachable hosts, failing name servers, and the statuses 408, 429,
    /// 500, 502, 503 and 504, but not a proxy that refuses to connect. The delay grows from ``initialDelay`` to ``maximumDelay`` and varies by up to a tenth, so
    /// that many clients do not retry in step. `Retry-After` (RFC 9110 §10.2.3) can only make it longer.
    ///
    /// - Parameters:
    ///   - failures: How many failures there were in a row, this one included.
    ///   - error: The failure.
    ///   - response: The server's response, if there was one.
    public func delay(afterFailures failures: Int, error: any Error, response: HTTPURLResponse?) -> Duration? {
        guard failures >= 1, failures <= maximumRetries, Self.isTransient(error, response) else { return nil }
        let delay = backOff(failures)
        guard let response, let text = response.value(forHTTPHeaderField: "Retry-After"),
            let asked = RetryAfter(text)?.delay
        else { return delay }
        return asked > Self.longestRetryAfter ? nil : max(delay, asked)
    }

    private static var jitter: Double {
        var source = Randomness()
        return .random(in: 1...1.1, using: &source)
    }

    private func backOff(_ failures: Int) -> Duration {
        let ceiling = Self.seconds(maximumDelay)
        let factor = multiplier.isFinite ? max(1, multiplier) : 1
        let delay = Self.seconds(initialDelay) * pow(factor, Double(failures - 1))
        // Zero times infinity is not a number.
        let grown = delay.isNaN ? 0 : min(delay, ceiling)
        return .seconds(min(grown * Self.jitter, ceiling))
    }

    /// The duration in seconds, from 0 to a billion, which a `Duration` can hold.
    private static func seconds(_ duration: Duration) -> Double {
        min(max(0, duration / .seconds(1)), 1_000_000_000)
    }

    private static func isTransient(_ error: any Error, _ response: HTTPURLResponse?) -> Bool {
        if let status = response?.statusCode, status != 200, status != 206 {
            return [408, 429, 500, 502, 503, 504].contains(status)
        }
        guard let error = error as? URLError, !error.isRefusalOfProxy else { return false }
        let transient: Set<URLError.Code> = [
            .networkConnectionLost, .timedOut, .cannotConnectToHost, .notConnectedToInternet, .dnsLookupFailed,
        ]
        return transient.contains(error.code)
    }
}

/// The value of `Retry-After` (RFC 9110 §10.2.3): seconds, or a date.
struct RetryAfter {
    /// The time from now; zero for a date in the past.
    let delay: Duration

    /// `nil` for a text that is neither.
    init?(_ text: String, now: Date = .current) {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // A number too large for an integer is too long a delay as well.
            delay = .seconds(min(Int64(text) ?? .max, 1_000_000_000))
        } else if let date = HTTPDate(text) {
            let seconds = Double(date.secondsSinceEpoch) - now.timeIntervalSince1970
            delay = .milliseconds(Int64((min(max(0, seconds), 1_000_000_000) * 1000).rounded(.up)))
        } else {
            return nil
        }
    }
}
