import Foundation
import Purl

/// When a transfer that failed is tried again, and after how long.
public struct RetryPolicy: Sendable, Equatable {
    /// How many times in a row a transfer is tried again without a byte of progress in between.
    public var maximumRetries = 3
    /// How long to wait after the first failure.
    public var initialDelay: Duration = .seconds(1)
    /// How long to wait at most, unless the server asks for more.
    public var maximumDelay: Duration = .seconds(60)
    /// By how much the wait grows with each failure; less than 1 means 1.
    public var multiplier = 2.0

    /// The longest `Retry-After` that is waited for: one hour. A server that asks for more is not asked again.
    public static let longestRetryAfter: Duration = .seconds(3600)

    /// Three tries more, after 1, 2 and 4 seconds.
    public init() {}

    /// No second try.
    public static let never: RetryPolicy = {
        var policy = RetryPolicy()
        policy.maximumRetries = 0
        return policy
    }()

    /// How long to wait before the next try; `nil` when there is to be none: the failure is not transient, the tries
    /// are used up, or the server asks for more than ``longestRetryAfter``.
    ///
    /// Transient are lost connections, time-outs, unreachable hosts, failing name servers, and the statuses 408, 429,
    /// 500, 502, 503 and 504. The wait grows from ``initialDelay`` to ``maximumDelay`` and varies by up to a tenth, so
    /// that many clients do not come back in step. `Retry-After` (RFC 9110 §10.2.3) can only make it longer.
    ///
    /// - Parameters:
    ///   - failures: How many failures there were in a row, this one included.
    ///   - response: What the server answered, if it did.
    public func delay(afterFailures failures: Int, error: any Error, response: HTTPURLResponse?) -> Duration? {
        guard failures >= 1, failures <= maximumRetries, Self.isTransient(error, response) else { return nil }
        let delay = backOff(failures)
        guard let response, let text = response.value(forHTTPHeaderField: "Retry-After"),
            let asked = RetryAfter(text)?.delay
        else { return delay }
        return asked > Self.longestRetryAfter ? nil : max(delay, asked)
    }

    private func backOff(_ failures: Int) -> Duration {
        let ceiling = Self.seconds(maximumDelay)
        let factor = multiplier.isFinite ? max(1, multiplier) : 1
        let delay = Self.seconds(initialDelay) * pow(factor, Double(failures - 1))
        // Nothing times infinity is no number, and smaller than nothing.
        let grown = delay.isNaN ? 0 : min(delay, ceiling)
        return .seconds(min(grown * Double.random(in: 1...1.1), ceiling))
    }

    /// In seconds, not negative, and no more than a `Duration` holds with ease.
    private static func seconds(_ duration: Duration) -> Double {
        min(max(0, duration / .seconds(1)), 1_000_000_000)
    }

    private static func isTransient(_ error: any Error, _ response: HTTPURLResponse?) -> Bool {
        if let status = response?.statusCode, status != 200, status != 206 {
            return [408, 429, 500, 502, 503, 504].contains(status)
        }
        guard let error = error as? URLError else { return false }
        let transient: Set<URLError.Code> = [
            .networkConnectionLost, .timedOut, .cannotConnectToHost, .notConnectedToInternet, .dnsLookupFailed,
        ]
        return transient.contains(error.code)
    }
}
