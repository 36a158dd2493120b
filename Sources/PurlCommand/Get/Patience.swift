import Foundation
import Purl
import PurlDownloads

/// How often a download that fails is still tried again. An attempt that came further than all before begins the count
/// anew.
struct Patience {
    private let policy: RetryPolicy
    private var failures = 0
    private var furthest: Int64 = 0

    init(retries: Int) {
        var policy = RetryPolicy()
        policy.maximumRetries = retries
        self.policy = policy
    }

    /// "2 of 3".
    var text: String { "\(failures) of \(policy.maximumRetries)" }

    /// How long to wait before the next attempt; `nil` when there is to be none.
    ///
    /// - Parameter bytes: How many bytes are there now.
    mutating func wait(after end: End, _ report: GetDelegate.Report, bytes: Int64) -> Duration? {
        let reason: any Error
        switch end {
        case .complete, .interrupted, .refused, .notTheFile: return nil
        case .httpError: reason = URLError(.badServerResponse)
        case .failed(let error): reason = error
        }
        if bytes > furthest {
            furthest = bytes
            failures = 0
        }
        failures += 1
        return policy.delay(afterFailures: failures, error: reason, response: report.response)
    }
}
